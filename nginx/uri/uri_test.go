package uri_test

import (
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/nginx/uri"
)

func TestNormalize(t *testing.T) {
	for target, want := range map[string]string{
		"/":                "/",
		"/a/b":             "/a/b",
		"/a/b?c//d":        "/a/b",
		"/a#b":             "/a",
		"/a/?":             "/a/",
		"//":               "/",
		"//a///b//":        "/a/b/",
		"/%61%2Fb":         "/a/b",
		"/a%2f%2Fb":        "/a/b",
		"/a/.":             "/a/",
		"/a/./b":           "/a/b",
		"/a/..":            "/",
		"/a/../b":          "/b",
		"/a/b/../../c":     "/c",
		"/a//../b":         "/b",
		"/a/%2e%2E/b":      "/b",
		"/a/.%2e%2fb":      "/b",
		"/a/%2e":           "/a/",
		"/a/...":           "/a/...",
		"/a/.b":            "/a/.b",
		"/a/..b/..c":       "/a/..b/..c",
		"/a/b..":           "/a/b..",
		"/a/b./c":          "/a/b./c",
		"/a%252e":          "/a%2e",
		"/a%25%32%65":      "/a%2e",
		"/%3f%23":          "/?#",
		"/a%3F/../b":       "/b",
		"/+./a":            "/+./a",
		"/a%20b%0d%0A%01":  "/a b\r\n\x01",
		"/\xff%fF\xc3\xa9": "/\xff\xff\xc3\xa9",
		"/a;x=y/..;/b":     "/a;x=y/..;/b",
		"/..%5c":           "/..\\",
		"/a%7f":            "/a\x7f",
		"/[a]|\"{}":        "/[a]|\"{}",
	} {
		if got, ok := uri.Normalize(target); got != want || !ok {
			t.Errorf("%q: %q %t, want %q", target, got, ok, want)
		}
	}
	for _, target := range []string{
		"", "*", "a", "http://a/", "/..", "/../", "/../a", "/a/../..", "/%2e%2e", "//..", "/.././a", "/%", "/%4", "/%zz",
		"/%4g",
		"/%00", "/a%00b", "/a b", "/a\x00", "/a\n", "/\x7f", "/a? b", "/..?", "/..#",
	} {
		if got, ok := uri.Normalize(target); got != "" || ok {
			t.Errorf("%q: %q %t, want a refusal", target, got, ok)
		}
	}
}

func TestNormalizeAllocatesNothing(t *testing.T) {
	for _, path := range []string{"/", "/a/b.c/d-e", "/a;b/c+d?e=/../%zz"} {
		if n := testing.AllocsPerRun(100, func() { _, _ = uri.Normalize(path) }); n > 0 {
			t.Errorf("%q: %v allocations", path, n)
		}
	}
}

func TestEscape(t *testing.T) {
	for path, want := range map[string]string{
		"":                      "",
		"/a-b._~/c":             "/a-b._~/c",
		"/:@!$&'()*+,;=[]":      "/:@!$&'()*+,;=[]",
		"/ \"#%<>?\\^`{|}":      "/%20%22%23%25%3C%3E%3F%5C%5E%60%7B%7C%7D",
		"/\x00\x1f\x7f\xc3\xa9": "/%00%1F%7F%C3%A9",
	} {
		if got := uri.Escape(path); got != want {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
	if got, want := string(uri.AppendEscapedArgs([]byte("a="), "b&c+d;e f/g=")), "a=b%26c%2Bd%3Be%20f/g="; got != want {
		t.Errorf("in a query: %q, want %q", got, want)
	}
	got, want := string(uri.AppendValid([]byte("a="), "%20 \x7f\xe9#?\"<+", "#")), "a=%20%20%7F%E9%23?\"<+"
	if got != want {
		t.Errorf("valid: %q, want %q", got, want)
	}
}

// FuzzNormalize checks that the result is normal, and is that of its escaped form.
func FuzzNormalize(f *testing.F) {
	for _, target := range []string{"/a/../b", "//%2F/.%2e/", "/%00", "/a?b#c", "/...//.//"} {
		f.Add(target)
	}
	f.Fuzz(func(t *testing.T, target string) {
		path, ok := uri.Normalize(target)
		if !ok {
			if path != "" {
				t.Fatalf("%q: a refusal with the path %q", target, path)
			}
			return
		}
		if !strings.HasPrefix(path, "/") || strings.Contains(path, "//") || strings.Contains(path, "/./") ||
			strings.Contains(path+"/", "/../") || strings.HasSuffix(path, "/.") {
			t.Fatalf("%q: %q is not normal", target, path)
		}
		if again, ok := uri.Normalize(uri.Escape(path)); again != path || !ok {
			t.Fatalf("%q: %q, and escaped %q %t", target, path, again, ok)
		}
	})
}
