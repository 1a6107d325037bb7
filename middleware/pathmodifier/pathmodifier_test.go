package pathmodifier_test

import (
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/pathmodifier"
)

func TestPath(t *testing.T) {
	for _, row := range []struct{ path, prefix, replacement, want string }{
		{"/foo/bar", "/foo", "/xyz", "/xyz/bar"},
		{"/foo/bar", "/foo", "/xyz/", "/xyz/bar"},
		{"/foo/bar", "/foo/", "/xyz", "/xyz/bar"},
		{"/foo/bar", "/foo/", "/xyz/", "/xyz/bar"},
		{"/foo", "/foo", "/xyz", "/xyz"},
		{"/foo", "/foo/", "/xyz/", "/xyz"},
		{"/foo/", "/foo", "/xyz", "/xyz/"},
		{"/foo/bar", "/foo", "", "/bar"},
		{"/foo/", "/foo", "", "/"},
		{"/foo", "/foo", "", "/"},
		{"/foo/", "/foo", "/", "/"},
		{"/foo", "/foo", "/", "/"},
		{"/foobar", "/foo", "/xyz", "/foobar"},
		{"/other", "/foo", "/xyz", "/other"},
		{"/a", "/", "/xyz", "/xyz/a"},
		{"/", "", "/xyz", "/xyz/"},
		{"/a%20b/c", "/a b", "/x y", "/x%20y/c"},
	} {
		m, err := pathmodifier.New("path", &dynamic.PathModifier{ReplacePrefixMatch: &row.replacement, Prefix: row.prefix})
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := m.Path(row.path); got != row.want {
			t.Errorf("%s with %q for %q becomes %s, want %s", row.path, row.replacement, row.prefix, got, row.want)
		}
	}
	for full, want := range map[string]string{"": "/", "/": "/", "/a": "/a", "/a/": "/a/"} {
		m, err := pathmodifier.New("path", &dynamic.PathModifier{FullPath: &full})
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := m.Path("/b/c"); got != want {
			t.Errorf("fullPath %q gives %s, want %s", full, got, want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	a, bad, dots := "/a", "a", "/a/../b"
	for want, config := range map[string]dynamic.PathModifier{
		"path has neither fullPath nor replacePrefixMatch":          {},
		"path has both fullPath and replacePrefixMatch":             {FullPath: &a, ReplacePrefixMatch: &a},
		"path.prefix has no meaning for fullPath":                   {FullPath: &a, Prefix: "/a"},
		`path.fullPath: "a": does not begin with a slash`:           {FullPath: &bad},
		`path.prefix: "a": does not begin with a slash`:             {ReplacePrefixMatch: &a, Prefix: "a"},
		`path.replacePrefixMatch: "a": does not begin with a slash`: {ReplacePrefixMatch: &bad},
	} {
		if _, err := pathmodifier.New("path", &config); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if _, err := pathmodifier.New("path", &dynamic.PathModifier{FullPath: &dots}); err == nil {
		t.Error("dot segments are accepted")
	}
}
