package encodedcharacters

import (
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

func TestReadme(t *testing.T) {
	definition := middlewaretest.Examples(t, "README.md")["only-slashes"]
	step, err := New("only-slashes@file", *definition.EncodedCharacters)
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]int{"GET /files/a%2Fb": 0, "GET /files/a%3Bb": 400} {
		if got := serve(t, step, line); got != want {
			t.Errorf("%s: status %d, want %d", line, got, want)
		}
	}
}

// serve returns the status of the answer, 0 when the request arrives behind as it was.
func serve(t *testing.T, step *EncodedCharacters, line string) int {
	t.Helper()
	r := middlewaretest.Request(t, line)
	before, passed := r.RequestURI, false
	w := new(middlewaretest.Writer)
	step.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		passed = true
		if r.RequestURI != before {
			t.Errorf("%s becomes %s", before, r.RequestURI)
		}
	})).ServeHTTP(w, r)
	if passed != (w.Status == 0) {
		t.Errorf("%s: passed %v, status %d", line, passed, w.Status)
	}
	return w.Status
}

// encodings are the encoded forms for each option.
func encodings() map[string][]string {
	return map[string][]string{
		"AllowEncodedSlash":         {"%2F", "%2f"},
		"AllowEncodedBackSlash":     {"%5C", "%5c", `\`},
		"AllowEncodedNullCharacter": {"%00"},
		"AllowEncodedSemicolon":     {"%3B", "%3b"},
		"AllowEncodedPercent":       {"%25", "%252F"},
		"AllowEncodedQuestionMark":  {"%3F", "%3f"},
		"AllowEncodedHash":          {"%23"},
	}
}

// TestEveryOption sets each option alone and each one but it: an option allows its own character, and no other.
func TestEveryOption(t *testing.T) {
	kind := reflect.TypeFor[dynamic.EncodedCharacters]()
	if kind.NumField() != len(encodings()) {
		t.Errorf("the model has %d options", kind.NumField())
	}
	for option := range encodings() {
		for _, others := range []bool{false, true} {
			var config dynamic.EncodedCharacters
			for i := range kind.NumField() {
				reflect.ValueOf(&config).Elem().Field(i).SetBool(others != (kind.Field(i).Name == option))
			}
			step, err := New("e@file", config)
			if err != nil {
				t.Fatal(err)
			}
			for other, forms := range encodings() {
				for _, form := range forms {
					want := http.StatusBadRequest
					if others != (other == option) {
						want = 0
					}
					if got := serve(t, step, "GET /a"+form+"b"); got != want {
						t.Errorf("%+v: %s answers %d, want %d", config, form, got, want)
					}
				}
			}
		}
	}
}

func TestDefaults(t *testing.T) {
	step, err := New("e@file", dynamic.EncodedCharacters{})
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]int{
		"GET /":                          0,
		"GET /a;b/c":                     0,
		"GET /%20%C3%A9%7E%3A%40":        0,
		"GET /a?b=%2F%5C%00%3B%25%3F%23": 0,
		"OPTIONS *":                      0,
		"GET /%2F":                       400,
		"GET /a/b/%20%20/%2f":            400,
		"GET /a%2525":                    400,
		"DELETE /%00":                    400,
	} {
		if got := serve(t, step, line); got != want {
			t.Errorf("%s: status %d, want %d", line, got, want)
		}
	}
}

// TestJudgesWhatArrives covers what a middleware before this one leaves behind, canonical or not.
func TestJudgesWhatArrives(t *testing.T) {
	step, err := New("e@file", dynamic.EncodedCharacters{})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"/a;b": 0, "/a%b": 400, "/a?b": 400, `/a\b`: 400, "/a\x00b": 400} {
		r := middlewaretest.Request(t, "GET /")
		r.URL = &url.URL{Path: path}
		w := new(middlewaretest.Writer)
		step.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
		if w.Status != want {
			t.Errorf("%q: status %d, want %d", path, w.Status, want)
		}
	}
}

func TestAllAllowedIsNothingToDo(t *testing.T) {
	step, err := New("e@file", dynamic.EncodedCharacters{
		AllowEncodedSlash: true, AllowEncodedBackSlash: true, AllowEncodedNullCharacter: true, AllowEncodedSemicolon: true,
		AllowEncodedPercent: true, AllowEncodedQuestionMark: true, AllowEncodedHash: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	next := new(http.ServeMux)
	if step.Wrap(next) != http.Handler(next) {
		t.Error("a handler stands before the next one")
	}
}

// FuzzEncodedCharacters asserts that no path passes that decodes to another one by an encoding that is not allowed.
func FuzzEncodedCharacters(f *testing.F) {
	f.Add("/a%2fb", uint8(0))
	f.Add("/a%2fb%5C%3b%00", uint8(1))
	f.Add("/%25%32%46", uint8(127))
	f.Fuzz(func(t *testing.T, path string, options uint8) {
		target, err := canonical.DefaultPolicy().Apply(path)
		if err != nil {
			return
		}
		bit := func(n int) bool { return options>>n&1 != 0 }
		step, err := New("e@file", dynamic.EncodedCharacters{
			AllowEncodedSlash: bit(0), AllowEncodedBackSlash: bit(1), AllowEncodedNullCharacter: bit(2),
			AllowEncodedSemicolon: bit(3),
			AllowEncodedPercent:   bit(4), AllowEncodedQuestionMark: bit(5), AllowEncodedHash: bit(6),
		})
		if err != nil {
			t.Fatal(err)
		}
		r := &http.Request{Method: http.MethodOptions, URL: new(url.URL), RequestURI: target.Escaped, Header: http.Header{}}
		target.Set(r.URL)
		passed := false
		step.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			passed = true
		})).ServeHTTP(new(middlewaretest.Writer), r)
		want := true
		for i, encoding := range []string{"%2F", "%5C", "%00", "%3B", "%25", "%3F", "%23"} {
			want = want && (bit(i) || !strings.Contains(strings.ReplaceAll(target.Escaped, "%25", "%25 "), encoding))
		}
		if passed != want {
			t.Errorf("%q with options %07b: passed %v", target.Escaped, options, passed)
		}
	})
}

func BenchmarkEncodedCharacters(b *testing.B) {
	step, err := New("e@file", dynamic.EncodedCharacters{})
	if err != nil {
		b.Fatal(err)
	}
	handler := step.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for name, line := range map[string]string{"idle": "GET /cart/items/1", "encoded": "GET /caf%C3%A9/a%20b"} {
		b.Run(name, func(b *testing.B) {
			r := middlewaretest.Request(b, line)
			b.ReportAllocs()
			for b.Loop() {
				handler.ServeHTTP(nil, r)
			}
		})
	}
}
