package translation

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sluiceproxy/sluice/dynamic"
)

func TestReasonsAreShortened(t *testing.T) {
	for _, reason := range []string{"short", strings.Repeat("a", mostReason), "a" + strings.Repeat("ü", mostReason)} {
		var result Result
		result.Quarantine(dynamic.Ref{}, dynamic.CodeInvalidOption, reason, false)
		result.Degrade(dynamic.Ref{}, dynamic.CodeMissingSecret, reason, true)
		for _, verdict := range result.Verdicts {
			whole := verdict.Reason == reason
			if whole != (len(reason) <= mostReason) || len(verdict.Reason) > mostReason+3 || !utf8.ValidString(verdict.Reason) {
				t.Errorf("a reason of %d bytes became %d bytes", len(reason), len(verdict.Reason))
			}
		}
	}
}
