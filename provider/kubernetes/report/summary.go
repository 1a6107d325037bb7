package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
)

// maxMessage is how many bytes a message may have: the API server accepts 1024 for an Event.
const maxMessage = 1000

// summary combines all verdicts on one object of the cluster.
type summary struct {
	// status is the worst of them, code the reason code of the first reason in message, message their reasons.
	status  dynamic.Status
	code    dynamic.Code
	message string
	// missing has the reasons of references to what does not exist, missingCode the code of the first one; both are empty
	// when nothing is missing.
	missing     string
	missingCode dynamic.Code
}

// summarize combines the verdicts on everything that one object declares: the worst first, and each reason once.
func summarize(verdicts []dynamic.Verdict) summary {
	sorted := slices.Clone(verdicts)
	slices.SortStableFunc(sorted, func(a, b dynamic.Verdict) int {
		return cmp.Or(cmp.Compare(b.Status, a.Status), cmp.Compare(a.Ref.Name, b.Ref.Name), cmp.Compare(a.Reason, b.Reason))
	})
	result := summary{code: dynamic.CodeAccepted}
	var all, missing []dynamic.Verdict
	for _, verdict := range sorted {
		if verdict.Status == dynamic.Accepted {
			continue
		}
		result.status = max(result.status, verdict.Status)
		all = append(all, verdict)
		if verdict.Missing {
			missing = append(missing, verdict)
		}
	}
	if len(all) > 0 {
		result.code, result.message = join(all)
	}
	if len(missing) > 0 {
		result.missingCode, result.missing = join(missing)
	}
	return result
}

// join makes one message of the reasons of verdicts, and returns the code of the first one. A reason that only repeats
// that of another object (service "web": Service shop/web does not exist) is left out, and so are those beyond the
// length of a message.
func join(verdicts []dynamic.Verdict) (dynamic.Code, string) {
	known := make(map[string]bool, len(verdicts))
	for _, verdict := range verdicts {
		known[verdict.Reason] = true
	}
	var code dynamic.Code
	var kept []string
	seen := map[string]bool{}
	for _, verdict := range verdicts {
		if !seen[verdict.Reason] && !repeats(verdict.Reason, known) {
			code = cmp.Or(code, verdict.ReasonCode())
			kept = append(kept, verdict.Reason)
			seen[verdict.Reason] = true
		}
	}
	return code, fit(kept)
}

// repeats reports whether a reason ends in another one that is known, behind the name of an object.
func repeats(reason string, known map[string]bool) bool {
	for rest := reason; ; {
		_, after, found := strings.Cut(rest, ": ")
		if !found {
			return false
		}
		if after != "" && known[after] {
			return true
		}
		rest = after
	}
}

// fit joins as many reasons as there is room for.
func fit(reasons []string) string {
	var text strings.Builder
	for i, reason := range reasons {
		rest := fmt.Sprintf("; and %d more", len(reasons)-i)
		if i > 0 {
			if text.Len()+len("; ")+len(reason)+len(rest) > maxMessage {
				text.WriteString(rest)
				break
			}
			text.WriteString("; ")
		}
		if room := maxMessage - len(rest) - text.Len(); len(reason) > room {
			reason = reason[:room-len("...")] + "..."
		}
		text.WriteString(strings.ToValidUTF8(reason, ""))
	}
	return text.String()
}
