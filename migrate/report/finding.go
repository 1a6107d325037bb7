package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/migrate/nginxmodel"
)

// Finding is what Sluice says of Ingresses beside their annotations, for one reason.
type Finding struct {
	// Status is quarantined for what answers 503, and degraded for what has no effect.
	Status    string   `json:"status"`
	Reason    string   `json:"reason"`
	Ingresses []string `json:"ingresses"`
}

// findings collects the verdicts on Ingresses: what closes locations first, then the most frequent. What stands at an
// annotation already is left out.
func findings(verdicts []dynamic.Verdict, ingresses []nginxmodel.Ingress) []Finding {
	said := map[string]bool{}
	for i := range ingresses {
		for _, one := range ingresses[i].Findings {
			said[ingresses[i].Key+"\n"+one.Key+": "+one.Reason] = true
		}
	}
	type key struct {
		status dynamic.Status
		reason string
	}
	at := map[key]int{}
	var all []Finding
	for i := range verdicts {
		one := &verdicts[i]
		of := ingressOf(one)
		if of == "" || one.Status == dynamic.Accepted || said[of+"\n"+one.Reason] {
			continue
		}
		n, known := at[key{one.Status, one.Reason}]
		if !known {
			n = len(all)
			at[key{one.Status, one.Reason}] = n
			all = append(all, Finding{Status: one.Status.String(), Reason: one.Reason})
		}
		if !slices.Contains(all[n].Ingresses, of) {
			all[n].Ingresses = append(all[n].Ingresses, of)
		}
	}
	for i := range all {
		slices.Sort(all[i].Ingresses)
	}
	slices.SortFunc(all, func(a, b Finding) int {
		return cmp.Or(strings.Compare(b.Status, a.Status), cmp.Compare(len(b.Ingresses), len(a.Ingresses)),
			strings.Compare(a.Reason, b.Reason))
	})
	return all
}

// ingressOf returns NAMESPACE/NAME of the Ingress that a verdict belongs to; empty for none.
func ingressOf(one *dynamic.Verdict) string {
	if of := one.Origin.Resource; of != nil && of.Kind == "Ingress" {
		return of.Namespace + "/" + of.Name
	}
	return ""
}

// closing returns the Ingresses of which Sluice closes a location, with whether ingress-nginx may serve it: an object
// that does not exist is missing there too.
func closing(verdicts []dynamic.Verdict) (closed map[string]bool, alone bool) {
	closed = map[string]bool{}
	for i := range verdicts {
		one := &verdicts[i]
		if of := ingressOf(one); of != "" && one.Status == dynamic.Quarantined {
			closed[of] = true
			alone = alone || !one.Missing
		}
	}
	return closed, alone
}

// shownFindings returns the findings for display, and how many are left out: names in reasons make many of one kind.
func (r *Report) shownFindings() (all []Finding, more int) {
	count := map[string]int{}
	for _, one := range r.Findings {
		key := one.Status + " " + kindOf(one.Reason)
		if count[key]++; count[key] > mostEffects {
			more++
			continue
		}
		all = append(all, one)
	}
	return all, more
}

// Outcome returns the status, for display.
func (f *Finding) Outcome() string {
	if f.Status == dynamic.Quarantined.String() {
		return f.Status + ", 503"
	}
	return f.Status
}
