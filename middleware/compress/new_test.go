package compress

import (
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

func TestReadme(t *testing.T) {
	examples := middlewaretest.Examples(t, "README.md")
	for name, definition := range examples {
		if definition.Compress == nil {
			t.Errorf("%s is no compress", name)
			continue
		}
		if _, err := New(name, *definition.Compress); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if c, err := New("smaller@file", *examples["smaller"].Compress); err != nil ||
		!cmp.Equal(c.names(), []string{"gzip", "br", "zstd"}) || c.minimum != 1024 || c.fallback != nil {
		t.Errorf("without options: %+v, %v", c, err)
	}
	c, err := New("chosen@file", *examples["chosen"].Compress)
	if err != nil || !cmp.Equal(c.names(), []string{"zstd", "gzip"}) || c.minimum != 256 || c.fallback != c.codings[1] ||
		!cmp.Equal(c.types.included, []string{"application/json", "text/*"}) {
		t.Errorf("with options: %+v, %v", c, err)
	}
}

func (c *Compress) names() (names []string) {
	for _, coding := range c.codings {
		names = append(names, coding.name)
	}
	return names
}

func TestBadValues(t *testing.T) {
	tests := []struct {
		config dynamic.Compress
		want   string
	}{
		{dynamic.Compress{}, "compress.encodings is empty; list some of gzip, br and zstd"},
		{dynamic.Compress{Encodings: []string{}}, "compress.encodings is empty; list some of gzip, br and zstd"},
		{
			dynamic.Compress{Encodings: []string{"gzip", "deflate"}},
			`compress.encodings: "deflate" is none of gzip, br and zstd`,
		},
		{dynamic.Compress{Encodings: []string{"GZIP"}}, `compress.encodings: "GZIP" is none of gzip, br and zstd`},
		{dynamic.Compress{Encodings: []string{"x-gzip"}}, `compress.encodings: "x-gzip" is none of gzip, br and zstd`},
		{
			dynamic.Compress{Encodings: []string{"gzip", "zstd"}, DefaultEncoding: "br"},
			`compress.defaultEncoding "br" is not among compress.encodings (gzip, zstd)`,
		},
		{
			dynamic.Compress{Encodings: []string{"gzip"}, DefaultEncoding: "identity"},
			`compress.defaultEncoding "identity" is not among compress.encodings (gzip)`,
		},
		{
			dynamic.Compress{Encodings: []string{"gzip"}, MinResponseBodyBytes: -1},
			"compress.minResponseBodyBytes -1 is negative",
		},
		{
			dynamic.Compress{
				Encodings: []string{"gzip"}, IncludedContentTypes: []string{"text/html"},
				ExcludedContentTypes: []string{"text/css"},
			},
			"compress.includedContentTypes and compress.excludedContentTypes are both set; one of them is wanted",
		},
		{
			dynamic.Compress{Encodings: []string{"gzip"}, IncludedContentTypes: []string{"text"}},
			`compress.includedContentTypes: "text" is not a media type, such as text/html or text/*`,
		},
		{
			dynamic.Compress{Encodings: []string{"gzip"}, IncludedContentTypes: []string{"*/html"}},
			`compress.includedContentTypes: "*/html" is not a media type, such as text/html or text/*`,
		},
		{
			dynamic.Compress{Encodings: []string{"gzip"}, ExcludedContentTypes: []string{""}},
			`compress.excludedContentTypes: "" is not a media type: mime: no media type`,
		},
		{
			dynamic.Compress{Encodings: []string{"gzip"}, ExcludedContentTypes: []string{"text/html; ="}},
			`compress.excludedContentTypes: "text/html; =" is not a media type: mime: invalid media parameter`,
		},
	}
	for _, test := range tests {
		c, err := New("test@file", test.config)
		if err == nil || err.Error() != test.want || c != nil {
			t.Errorf("%+v: %v, want %s", test.config, err, test.want)
		}
	}
}

func TestEncodingsListedTwiceHaveTheirFirstPlace(t *testing.T) {
	c := made(t, func(config *dynamic.Compress) { config.Encodings = []string{"br", "gzip", "br"} })
	if !slices.Equal(c.names(), []string{"br", "gzip"}) {
		t.Errorf("%v", c.names())
	}
}

func TestContentTypes(t *testing.T) {
	tests := []struct {
		included, excluded []string
		yes, no            []string
	}{
		{
			yes: []string{
				"text/html", "TEXT/HTML; charset=utf-8", "application/json", "application/octet-stream", "image/svg+xml",
				"image/bmp", "text/event-stream",
				"application/grpc-web+proto", "audio/wav", "font/ttf", "application/wasm", " text/css ",
			},
			no: []string{
				"application/grpc", "application/grpc+proto", "Application/GRPC;x=y", "image/png", "IMAGE/JPEG", "video/mp4",
				"audio/mpeg", "font/woff2", "application/zip",
				"application/vnd.oasis.opendocument.text+zip", "text", "text/", "/html", "html;charset=utf-8", ";",
			},
		},
		{
			excluded: []string{"Text/HTML; charset=utf-8", "application/*"},
			yes:      []string{"text/css", "textual/html"},
			no: []string{
				"text/html", "text/html; charset=iso-8859-1", "application/json", "application/grpc",
				"image/png",
			},
		},
		{
			included: []string{"text/html", "image/*"},
			yes:      []string{"text/html;charset=utf-8", "image/png", "image/svg+xml"},
			no:       []string{"text/css", "application/json", "text/htmlx"},
		},
		{included: []string{"*/*"}, yes: []string{"video/mp4", "a/b"}, no: []string{
			"application/grpc",
			"application/grpc+json",
		}},
		{included: []string{"application/grpc"}, no: []string{"application/grpc", "text/html"}},
	}
	for _, test := range tests {
		types, err := newTypes(test.included, test.excluded)
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range test.yes {
			if !types.allows(kind) {
				t.Errorf("included %q, excluded %q: %q is not compressed", test.included, test.excluded, kind)
			}
		}
		for _, kind := range test.no {
			if types.allows(kind) {
				t.Errorf("included %q, excluded %q: %q is compressed", test.included, test.excluded, kind)
			}
		}
	}
}

func TestRequestsThatRuleItOut(t *testing.T) {
	c := made(t, func(config *dynamic.Compress) { config.ExcludedContentTypes = []string{"application/x-ours"} })
	tests := []struct {
		line, field string
		chosen      bool
	}{
		{"GET /", "X-Other: 1", true},
		{"POST /", "Content-Type: application/json", true},
		{"HEAD /", "X-Other: 1", false},
		{"POST /", "Content-Type: application/grpc", false},
		{"POST /", "Content-Type: application/grpc+proto; x=y", false},
		{"POST /", "Content-Type: application/grpc-web", true},
		{"POST /", "Content-Type: Application/X-Ours; v=1", false},
		{"GET /", "Cache-Control: no-cache, No-Transform", false},
	}
	for _, test := range tests {
		r := middlewaretest.Request(t, test.line, "Accept-Encoding: gzip", test.field)
		if got := c.choose(r) != nil; got != test.chosen {
			t.Errorf("%s with %s: %v", test.line, test.field, got)
		}
	}
	connect := middlewaretest.Request(t, "GET /", "Accept-Encoding: gzip")
	connect.Method = http.MethodConnect
	if c.choose(connect) != nil {
		t.Error("CONNECT is compressed")
	}
}
