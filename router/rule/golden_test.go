package rule

import (
	"flag"
	"testing"

	"github.com/sluiceproxy/sluice/router/rule/expression/expressiontest"
)

var update = flag.Bool("update", false, "write the golden files of testdata instead of comparing with them")

func TestErrorsAreGolden(t *testing.T) {
	expressiontest.Golden(t, "errors.golden", *update, func(text string) string {
		parsed, err := Parse(text)
		if err == nil {
			t.Errorf("%s: parsed as %s, want an error", text, parsed.Canonical())
			return "no error"
		}
		return err.Error()
	})
}

func TestHintsForOlderLanguagesAreGolden(t *testing.T) {
	expressiontest.Golden(t, "older.golden", *update, func(text string) string {
		hint, language, ok := Older(text)
		if !ok {
			return "no hint"
		}
		return language + ": " + hint
	})
}

func TestV2IsGolden(t *testing.T) {
	expressiontest.Golden(t, "v2.golden", *update, func(text string) string {
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
	expressiontest.Golden(t, "canonical.golden", *update, func(text string) string {
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
