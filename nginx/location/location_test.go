package location_test

import (
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/nginx/location"
	"github.com/sluiceproxy/sluice/nginx/pcre"
)

func paths(names ...string) []location.Location {
	all := make([]location.Location, 0, len(names))
	for _, name := range names {
		all = append(all, location.Location{Name: name, Redirects: true})
	}
	return all
}

func patterns(t *testing.T, names ...string) []location.Location {
	t.Helper()
	all := make([]location.Location, 0, len(names))
	for _, name := range names {
		re, err := pcre.Compile(name, pcre.Caseless)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, location.Location{Name: name, Regexp: re, Redirects: true})
	}
	return all
}

func TestChoose(t *testing.T) {
	server := location.Server{
		Exact:  paths("/foo", "/exact/", "/both/"),
		Prefix: paths("/", "/foo/", "/foo/bar/", "/byte", "/both/", "/a b/", "/byte/deep/x/"),
		Regex:  patterns(t, "^/re/long", "^/re", "^/foo/bar/r", "^/exact", "^/byte$"),
	}
	check(t, &server, [][3]string{
		{"/", "/", ""},
		{"/x", "/", ""},
		{"/foo", "/foo", ""},
		{"/foo/", "/foo/", ""},
		{"/foobar", "/", ""},
		{"/foo/ba", "/foo/", ""},
		{"/foo/bar", "/foo/bar/", "/foo/bar/"},
		{"/foo/bar/x", "/foo/bar/", ""},
		{"/foo/bar/R", "^/foo/bar/r", ""},
		{"/exact", "/exact/", "/exact/"},
		{"/exact/", "/exact/", ""},
		{"/exact/x", "^/exact", ""},
		{"/both", "/both/", "/both/"},
		{"/byte", "^/byte$", ""},
		{"/bytes", "/byte", ""},
		{"/byte/deep/x", "/byte/deep/x/", "/byte/deep/x/"},
		{"/a b", "/a b/", "/a%20b/"},
		{"/RE/Longer", "^/re/long", ""},
		{"/RE/lon", "^/re", ""},
	})
	check(t, &location.Server{Exact: paths("/foo"), Prefix: []location.Location{{Name: "/still/"}}}, [][3]string{
		{"/", "", ""},
		{"/foo/", "", ""},
		{"/still", "", ""},
		{"/still/x", "/still/", ""},
	})
}

// check takes path, name of the location, and redirection.
func check(t *testing.T, server *location.Server, cases [][3]string) {
	t.Helper()
	for _, c := range cases {
		got := server.Choose(c[0])
		name := ""
		if got.Location != nil {
			name = got.Location.Name
		}
		if name != c[1] || got.Redirect != c[2] {
			t.Errorf("%s: location %q, redirection %q, want %q", c[0], name, got.Redirect, c[1:])
		}
	}
}

// TestChooseOfTwo checks whose settings a redirected request gets.
func TestChooseOfTwo(t *testing.T) {
	server := location.Server{Exact: []location.Location{{Name: "/a/"}}, Prefix: paths("/a/")}
	if got := server.Choose("/a"); got.Location != &server.Exact[0] || got.Redirect != "/a/" {
		t.Errorf("got %+v", got)
	}
}

// FuzzChoose checks what holds for every choice.
func FuzzChoose(f *testing.F) {
	f.Add("/a", "/a/", "/a/b", "^/a", "/a")
	f.Add("/a/", "/a", "/", "b$", "/a/b")
	f.Fuzz(func(t *testing.T, exact, prefix, longer, pattern, path string) {
		re, err := pcre.Compile(pattern, 0)
		if err != nil || prefix == longer {
			return
		}
		server := location.Server{
			Exact: paths(exact), Prefix: paths(prefix, longer), Regex: []location.Location{{Name: pattern, Regexp: re}},
		}
		got := server.Choose(path)
		switch {
		case path == exact:
			if got.Location != &server.Exact[0] || got.Redirect != "" {
				t.Fatalf("%+v", got)
			}
		case got.Redirect != "":
			if got.Location.Name != path+"/" || path == prefix || path == longer {
				t.Fatalf("%+v", got)
			}
		case re.Match(path):
			if got.Location != &server.Regex[0] {
				t.Fatalf("%+v", got)
			}
		case got.Location == nil:
			if strings.HasPrefix(path, prefix) || strings.HasPrefix(path, longer) {
				t.Fatalf("%+v", got)
			}
		case !strings.HasPrefix(path, got.Location.Name),
			strings.HasPrefix(path, longer) && len(got.Location.Name) < len(longer):
			t.Fatalf("%+v", got)
		}
	})
}
