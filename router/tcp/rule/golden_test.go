package rule_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/router/tcp/rule"
)

var update = flag.Bool("update", false, "write the golden files of testdata instead of comparing with them")

// golden compares what describe makes of each line of testdata/name with the indented line that follows it.
func golden(t *testing.T, name string, describe func(rule string) string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	content := readFile(t, file)
	var got strings.Builder
	for line := range strings.Lines(content) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "\t") {
			continue
		}
		got.WriteString(line + "\n")
		if line != "" && !strings.HasPrefix(line, "#") {
			got.WriteString("\t" + describe(line) + "\n")
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want := strings.Split(content, "\n")
	for i, line := range strings.Split(got.String(), "\n") {
		if i >= len(want) || line != want[i] {
			t.Fatalf("%s:%d: got %q, want %q", file, i+1, line, want[min(i, len(want)-1)])
		}
	}
}

func readFile(tb testing.TB, file string) string {
	tb.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	return string(content)
}

func TestErrorsAreGolden(t *testing.T) {
	golden(t, "errors.golden", func(text string) string {
		_, err := rule.Parse(text)
		if wrong, is := errors.AsType[*rule.Error](err); !is || wrong.Column < 1 || wrong.Column > len(text)+1 {
			t.Errorf("%s: got %v, want an error with a column", text, err)
			return "no error"
		}
		return err.Error()
	})
}

func TestCanonicalSpellingsAreGolden(t *testing.T) {
	golden(t, "canonical.golden", func(text string) string {
		parsed, err := rule.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			return err.Error()
		}
		if parsed.String() != text || parsed.Length() != len(text) {
			t.Errorf("%s: String is %q and Length %d, want the text as written", text, parsed, parsed.Length())
		}
		return parsed.Canonical()
	})
}
