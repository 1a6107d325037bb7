package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
)

// The reasons that Events and conditions give, in one word.
const (
	reasonAccepted    = "Accepted"
	reasonDegraded    = "Degraded"
	reasonQuarantined = "Quarantined"
	reasonResolved    = "ResolvedRefs"
	reasonMissing     = "RefNotFound"
)

// maxMessage is how many bytes a message may have: the API server takes 1024 for an Event.
const maxMessage = 1000

// summary is what all verdicts on one object come to.
type summary struct {
	// status is the worst of them, and message their reasons.
	status  dynamic.Status
	message string
	// missing has the reasons of those that say that something does not exist; it is empty when nothing is missing.
	missing string
}

// reason returns the status in one word.
func (s summary) reason() string {
	switch s.status {
	case dynamic.Quarantined:
		return reasonQuarantined
	case dynamic.Degraded:
		return reasonDegraded
	}
	return reasonAccepted
}

// summarize joins the verdicts on everything that one object declares: the worst first, and each reason once.
func summarize(verdicts []dynamic.Verdict) summary {
	sorted := slices.Clone(verdicts)
	slices.SortStableFunc(sorted, func(a, b dynamic.Verdict) int {
		return cmp.Or(cmp.Compare(b.Status, a.Status), cmp.Compare(a.Ref.Name, b.Ref.Name), cmp.Compare(a.Reason, b.Reason))
	})
	var result summary
	var all, missing []string
	for _, verdict := range sorted {
		if verdict.Status == dynamic.Accepted {
			continue
		}
		result.status = max(result.status, verdict.Status)
		all = append(all, verdict.Reason)
		if verdict.Missing {
			missing = append(missing, verdict.Reason)
		}
	}
	result.message, result.missing = join(all), join(missing)
	return result
}

// join makes one message of reasons. A reason that only says that another object has one of them (service "web": Service
// shop/web does not exist) is left out, and so is what would make the message too long.
func join(reasons []string) string {
	known := make(map[string]bool, len(reasons))
	for _, reason := range reasons {
		known[reason] = true
	}
	var kept []string
	told := map[string]bool{}
	for _, reason := range reasons {
		if !told[reason] && !repeats(reason, known) {
			kept = append(kept, reason)
			told[reason] = true
		}
	}
	return fit(kept)
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
