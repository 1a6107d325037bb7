package rule

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
			got.WriteString(line + "\n")
		case !strings.HasPrefix(line, "\t"):
			got.WriteString(line + "\n\t" + describe(line) + "\n")
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
		parsed, err := Parse(text)
		if err == nil {
			t.Errorf("%s: parsed as %s, want an error", text, parsed.Canonical())
			return "no error"
		}
		return err.Error()
	})
}

func TestHintsForOlderLanguagesAreGolden(t *testing.T) {
	golden(t, "older.golden", func(text string) string {
		hint, language, ok := Older(text)
		if !ok {
			return "no hint"
		}
		return language + ": " + hint
	})
}

func TestV2IsGolden(t *testing.T) {
	golden(t, "v2.golden", func(text string) string {
		parsed, err := ParseV2(text)
		if err != nil {
			return err.Error()
		}
		if parsed.String() != text || parsed.Length() != len(text) {
			t.Errorf("%s: String is %q and Length %d, want the text as written", text, parsed, parsed.Length())
		}
		return parsed.Canonical()
	})
}

func TestCanonicalSpellingsAreGolden(t *testing.T) {
	golden(t, "canonical.golden", func(text string) string {
		parsed, err := Parse(text)
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
