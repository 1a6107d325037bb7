package cookies_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/sluiceproxy/sluice/middleware/cookies"
)

func TestCookies(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		lines       []string
		first, last string
		count       int
		left        []string
	}{
		{},
		{lines: []string{"other=1"}, left: []string{"other=1"}},
		{lines: []string{"env=a"}, first: "a", last: "a", count: 1},
		{lines: []string{"x=1; env=a; y=2"}, first: "a", last: "a", count: 1, left: []string{"x=1; y=2"}},
		{lines: []string{"env=a; env=b", "z=3;env=\"c\""}, first: "a", last: "c", count: 3, left: []string{"z=3"}},
		{lines: []string{"env"}, count: 1},
		{lines: []string{" env = a "}, first: "a", last: "a", count: 1},
		{lines: []string{"xenv=1; Env=2"}, left: []string{"xenv=1; Env=2"}},
	} {
		header := http.Header{}
		if test.lines != nil {
			header["Cookie"] = test.lines
		}
		first, last, count := cookies.Find(header, "env")
		if first != test.first || last != test.last || count != test.count {
			t.Errorf("%q: %q, %q, %d times", test.lines, first, last, count)
		}
		if cookies.Remove(header, "env"); !slices.Equal(header["Cookie"], test.left) {
			t.Errorf("%q leaves %q, want %q", test.lines, header["Cookie"], test.left)
		}
	}
}
