package rule_test

import (
	"errors"
	"flag"
	"testing"

	"github.com/sluiceproxy/sluice/router/rule/expression/expressiontest"
	"github.com/sluiceproxy/sluice/router/tcp/rule"
)

var update = flag.Bool("update", false, "write the golden files of testdata instead of comparing with them")

func TestErrorsAreGolden(t *testing.T) {
	expressiontest.Golden(t, "errors.golden", *update, func(text string) string {
		_, err := rule.Parse(text)
		if wrong, is := errors.AsType[*rule.Error](err); !is || wrong.Column < 1 || wrong.Column > len(text)+1 {
			t.Errorf("%s: got %v, want an error with a column", text, err)
			return "no error"
		}
		return err.Error()
	})
}

func TestCanonicalSpellingsAreGolden(t *testing.T) {
	expressiontest.Golden(t, "canonical.golden", *update, func(text string) string {
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
