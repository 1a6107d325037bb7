package tracing

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAQueryShowsWhatIsSafe(t *testing.T) {
	safe := newQuery([]string{"page", "größe", "flag"})
	tests := map[string]string{
		"page=2":                 "page=2",
		"page=2&token=planted":   "page=2&token=REDACTED",
		"token=planted&page=2":   "token=REDACTED&page=2",
		"token=a&token=b":        "token=REDACTED&token=REDACTED",
		"token=":                 "REDACTED",
		"planted":                "REDACTED",
		"cGxhbnRl==":             "REDACTED",
		"a=1&cGxhbnRlZA=":        "a=REDACTED&REDACTED",
		"flag=":                  "flag=",
		"flag":                   "flag",
		"gr%C3%B6%C3%9Fe=3":      "gr%C3%B6%C3%9Fe=3",
		"%zz=planted":            "REDACTED",
		"page=1;token=planted":   "REDACTED",
		"token=a;page=planted":   "REDACTED",
		"Page=planted":           "Page=REDACTED",
		"a=1&&b=2":               "a=REDACTED&REDACTED&b=REDACTED",
		"token=planted%26page=2": "token=REDACTED",
	}
	for raw, want := range tests {
		if got := safe.show(raw); got != want {
			t.Errorf("show(%q) = %q, want %q", raw, got, want)
		}
	}
}

func FuzzQuery(f *testing.F) {
	for _, seed := range []string{"a=1", "page=2&b=\xff", "&&&", "%=&=%", strings.Repeat("a=1&", 1000)} {
		f.Add(seed)
	}
	q := newQuery([]string{"page"})
	f.Fuzz(func(t *testing.T, raw string) {
		got := q.show(raw)
		if !utf8.ValidString(got) || len(got) > 3*maxValue {
			t.Fatalf("show(%q) = %q, of %d bytes", raw, got, len(got))
		}
		if len(got) >= maxValue || !utf8.ValidString(raw) {
			return
		}
		for part := range strings.SplitSeq(got, "&") {
			name, value, _ := strings.Cut(part, "=")
			if name != "page" && !strings.Contains(name, "%") && part != redacted && value != redacted {
				t.Errorf("show(%q) = %q, which shows %q", raw, got, part)
			}
		}
	})
}
