package compress

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
)

// documented are exchanges whose result is documented in the README or in Traefik's reference.
func documented() []exchange {
	plain := []string{"Content-Type", "text/plain"}
	with := func(fields ...string) []string { return slices.Concat(plain, fields) }
	return []exchange{
		{title: "gzip is preferred", accept: "zstd, br, gzip", header: plain, size: 2000},
		{title: "brotli where the client prefers it", accept: "gzip;q=0.5, br", header: plain, size: 2000},
		{title: "zstd", accept: "zstd", header: plain, size: 2000},
		{title: "no Accept-Encoding", accept: "-", header: plain, size: 2000},
		{
			title: "no Accept-Encoding, with a default", accept: "-", header: plain, size: 2000,
			change: func(c *dynamic.Compress) {
				c.DefaultEncoding = "br"
			},
		},
		{
			title: "empty Accept-Encoding, with a default", accept: "", header: plain, size: 2000,
			change: func(c *dynamic.Compress) {
				c.DefaultEncoding = "br"
			},
		},
		{title: "nothing is acceptable", accept: "deflate, identity;q=0", header: plain, size: 2000},
		{title: "one byte less than the minimum", accept: "gzip", header: plain, size: 1023},
		{title: "the minimum", accept: "gzip", header: plain, size: 1024},
		{title: "one byte less than the minimum, declared", accept: "gzip", header: with("Content-Length", "1023",
			"Accept-Ranges", "bytes"), size: 1023},
		{
			title: "the minimum, declared", accept: "gzip", header: with("Content-Length", "1024", "Accept-Ranges", "bytes"),
			size: 1024,
		},
		{title: "another minimum", accept: "gzip", header: plain, size: 100, change: func(c *dynamic.Compress) {
			c.MinResponseBodyBytes = 100
		}},
		{title: "less than the minimum, flushed", accept: "gzip", header: plain, size: 10, flush: true},
		{
			title: "an event stream", accept: "gzip", header: []string{"Content-Type", "text/event-stream"}, size: 10,
			flush: true,
		},
		{title: "an excluded type", accept: "gzip", header: plain, size: 2000, change: func(c *dynamic.Compress) {
			c.ExcludedContentTypes = []string{"text/plain; charset=utf-8"}
		}},
		{title: "an included type", accept: "gzip", header: plain, size: 2000, change: func(c *dynamic.Compress) {
			c.IncludedContentTypes = []string{"text/*"}
		}},
		{title: "a type that is not included", accept: "gzip", header: plain, size: 2000, change: func(c *dynamic.Compress) {
			c.IncludedContentTypes = []string{"text/html"}
		}},
		{title: "gRPC", accept: "gzip", header: []string{"Content-Type", "application/grpc+proto"}, size: 2000, flush: true},
		{title: "an image", accept: "gzip", header: []string{"Content-Type", "image/png"}, size: 2000},
		{
			title: "an image that is included", accept: "gzip", header: []string{"Content-Type", "image/png"}, size: 2000,
			change: func(c *dynamic.Compress) {
				c.IncludedContentTypes = []string{"image/png"}
			},
		},
		{title: "no type", accept: "br", header: []string{"Content-Type", "-"}, size: 2000},
		{title: "no type, and no detection", accept: "br", header: []string{
			"Content-Type", "-",
			"X-Content-Type-Options", "nosniff",
		}, size: 2000},
		{title: "encoded already", accept: "gzip", header: with("Content-Encoding", "br", "Vary", "Accept-Encoding", "ETag",
			`"a"`), size: 2000},
		{title: "a part", accept: "gzip", status: http.StatusPartialContent, header: with("Content-Range",
			"bytes 0-1999/5000", "Accept-Ranges", "bytes", "ETag", `"a"`), size: 2000},
		{
			title: "an unsatisfiable range", accept: "gzip", status: http.StatusRequestedRangeNotSatisfiable,
			header: with("Content-Range", "bytes */5000"), size: 2000,
		},
		{title: "no-transform", accept: "gzip", header: with("Cache-Control", "public, no-transform"), size: 2000},
		{
			title: "no-transform of the client", accept: "gzip", fields: []string{"Cache-Control", "no-transform"},
			header: plain, size: 2000,
		},
		{title: "a digest", accept: "gzip", header: with("Repr-Digest", "sha-256=:AAAA:"), size: 2000},
		{title: "a strong validator", accept: "gzip", header: with("ETag", `"a"`), size: 2000},
		{title: "a weak validator", accept: "gzip", header: with("ETag", `W/"a"`), size: 2000},
		{title: "varies by a cookie", accept: "gzip", header: with("Vary", "Cookie"), size: 2000},
		{title: "varies already", accept: "gzip", header: with("Vary", "cookie, accept-encoding"), size: 2000},
		{title: "an error", accept: "gzip", status: http.StatusInternalServerError, header: plain, size: 2000},
		{title: "no content", accept: "gzip", status: http.StatusNoContent},
		{title: "not modified", accept: "gzip", status: http.StatusNotModified, header: []string{"ETag", `"a"`}},
		{title: "no body", accept: "gzip", header: plain},
		{title: "HEAD", accept: "gzip", method: http.MethodHead, header: with("Content-Length", "2000", "ETag", `"a"`)},
	}
}

// exchange is a request and the response that the service gives.
type exchange struct {
	title, method, accept string
	fields                []string
	status                int
	// header holds names and values; "-" is a header without a value, as forwarding leaves Content-Type where the service
	// sent none.
	header []string
	size   int
	flush  bool
	change func(*dynamic.Compress)
}

// ServeHTTP gives the response.
func (e exchange) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	for i := 0; i < len(e.header); i += 2 {
		if e.header[i+1] == "-" {
			w.Header()[e.header[i]] = nil
			continue
		}
		w.Header().Set(e.header[i], e.header[i+1])
	}
	if e.status != 0 {
		w.WriteHeader(e.status)
	}
	if e.size > 0 {
		_, _ = w.Write(text(e.size))
	}
	if e.flush {
		w.(http.Flusher).Flush()
	}
}

// TestDocumented compares what clients get with testdata/documented.txt, on each server.
func TestDocumented(t *testing.T) {
	for name, serve := range servers() {
		t.Run(name, func(t *testing.T) {
			var page strings.Builder
			for _, e := range documented() {
				page.WriteString(e.answer(t, serve(t, made(t, e.change).Wrap(e))))
			}
			if *update {
				if err := os.WriteFile("testdata/documented.txt", []byte(page.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile("testdata/documented.txt")
			if err != nil {
				t.Fatal(err)
			}
			if difference := cmp.Diff(string(want), page.String()); difference != "" {
				t.Errorf("testdata/documented.txt differs (-want +got), rewrite it with -update:\n%s", difference)
			}
		})
	}
}

// answer returns what the client gets, as text.
func (e exchange) answer(t *testing.T, at server) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), e.method, at.url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if e.accept != "-" {
		request.Header["Accept-Encoding"] = []string{e.accept}
	}
	for i := 0; i < len(e.fields); i += 2 {
		request.Header.Set(e.fields[i], e.fields[i+1])
	}
	response, err := at.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var out strings.Builder
	fmt.Fprintf(&out, "%s: %d\n", e.title, response.StatusCode)
	if !slices.Contains(e.header, "Content-Encoding") { // The service's description of its bytes is wrong here.
		if body := decoded(t, response); !bytes.Equal(body, text(e.size)) {
			t.Errorf("%s: %d bytes, want %d", e.title, len(body), e.size)
		}
	}
	compressed := response.Header.Get("Content-Encoding") != ""
	for _, name := range []string{
		"Accept-Ranges", "Content-Encoding", "Content-Length", "Content-Range", "Content-Type",
		"Etag", "Repr-Digest", "Vary",
	} {
		if name == "Content-Length" && (compressed || e.size > 0 && !slices.Contains(e.header, name)) {
			continue // How the server frames what it is given is its own matter.
		}
		for _, value := range response.Header[name] {
			fmt.Fprintf(&out, "  %s: %s\n", name, value)
		}
	}
	return out.String()
}
