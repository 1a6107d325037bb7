// Package report shows what changes when Ingresses are served by another proxy than ingress-nginx: verdicts on
// annotations, Ingresses that interact, and differences in the answers to probes.
package report

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/migrate/nginxmodel"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

// The exit statuses of a command that reports.
const (
	// ExitSame is for no difference. Differences that annotations have by design, and that are stated, are none.
	ExitSame = 0
	// ExitDifferent is for differences in answers, annotations without their effect, and objects that cannot be read.
	ExitDifferent = 1
	// ExitUsage is for wrong arguments and input that cannot be read.
	ExitUsage = 2
)

// Verdict is what becomes of an Ingress.
type Verdict string

// The verdicts, from the best one.
const (
	// Same has the same effect.
	Same Verdict = "same"
	// Stated has differences that annotations state.
	Stated Verdict = "stated differences"
	// Lost has annotations without their effect.
	Lost Verdict = "lost effects"
	// Closed has locations that answer 503: in ingress-nginx too, or since something cannot be done that protects or that
	// decides which requests they get.
	Closed Verdict = "503"
	// Rejected is not accepted by ingress-nginx.
	Rejected Verdict = "rejected"
)

// Report is the whole result. Its JSON is for programs.
type Report struct {
	Summary Summary `json:"summary"`
	// Notes are what the result depends on, such as what has been read.
	Notes []string `json:"notes,omitempty"`
	// Causes are the differences in answers, those of one cause together: those that are not by design first, the most
	// frequent first.
	Causes []Cause `json:"causes,omitempty"`
	// Ingresses are ordered by verdict, the worst first.
	Ingresses []Ingress `json:"ingresses"`
	// Effects are what annotations lose or change, those of one reason together.
	Effects []Effect `json:"effects,omitempty"`
	// Findings are what Sluice closes or degrades, beside what annotations say, those of one reason together.
	Findings []Finding `json:"findings,omitempty"`
	// Proposals are objects in place of snippets.
	Proposals []Proposal `json:"proposals,omitempty"`
	// Settings are the verdicts on the keys of the ConfigMap.
	Settings []Annotation `json:"settings,omitempty"`
	// Counts are the annotations by the number of Ingresses that have them, the most frequent first.
	Counts       []Count                  `json:"counts,omitempty"`
	Interactions []nginxmodel.Interaction `json:"interactions,omitempty"`
	Problems     []nginxmodel.Problem     `json:"problems,omitempty"`
	Hosts        []Host                   `json:"hosts"`
	// Faults are what could not be read, with file and line, Ignored the fields of objects that do not exist.
	Faults  []string `json:"faults,omitempty"`
	Ignored []string `json:"ignored,omitempty"`
	// closes says that Sluice closes locations that ingress-nginx may serve.
	closes bool
}

// Summary are numbers.
type Summary struct {
	Ingresses int `json:"ingresses"`
	Hosts     int `json:"hosts"`
	// Verdicts are the numbers of Ingresses.
	Verdicts map[Verdict]int `json:"verdicts"`
	// Probes were sent, Differing of them had different answers, Stated of these by design. Failed were not answered.
	Probes    int `json:"probes"`
	Differing int `json:"differing"`
	Stated    int `json:"stated"`
	Failed    int `json:"failed"`
	// Skipped were not to be sent, Omitted are more than the limit per host.
	Skipped int `json:"skipped"`
	Omitted int `json:"omitted"`
}

// Ingress is an Ingress with its verdict.
type Ingress struct {
	// Name is NAMESPACE/NAME.
	Name    string   `json:"name"`
	File    string   `json:"file,omitempty"`
	Line    int      `json:"line,omitempty"`
	Hosts   []string `json:"hosts,omitempty"`
	Verdict Verdict  `json:"verdict"`
	// Denied is why its locations answer 503 in ingress-nginx.
	Denied string `json:"denied,omitempty"`
	// Rejected is why ingress-nginx does not accept it.
	Rejected    string       `json:"rejected,omitempty"`
	Annotations []Annotation `json:"annotations,omitempty"`
	// Differing is the number of probes with different answers that the Ingress decides, Causes the numbers of their
	// causes in Report.Causes.
	Differing int   `json:"differing"`
	Causes    []int `json:"causes,omitempty"`
}

// Annotation is the verdict on one annotation, or one key of the ConfigMap.
type Annotation struct {
	Name    string `json:"name"`
	Verdict string `json:"verdict"`
	Reason  string `json:"reason,omitempty"`
	// Protects says that something would be open without it.
	Protects bool `json:"protects,omitempty"`
	// Closes says that the locations answer 503 for it.
	Closes bool `json:"closes,omitempty"`
}

// Count is how often an annotation is used.
type Count struct {
	Name      string `json:"name"`
	Ingresses int    `json:"ingresses"`
	// Verdicts are the numbers of Ingresses by the verdict on the annotation.
	Verdicts map[string]int `json:"verdicts"`
}

// Proposal is what takes the place of directives of snippets.
type Proposal struct {
	// Annotation is without its prefix.
	Annotation string `json:"annotation"`
	// Directive is what is replaced, Text what must be known.
	Directive string `json:"directive"`
	Text      string `json:"text,omitempty"`
	// YAML is the object, for the first Ingress; empty when there is none.
	YAML      string   `json:"yaml,omitempty"`
	Ingresses []string `json:"ingresses"`
}

// Context is what a report says beside the model and the probes.
type Context struct {
	Notes     []string
	Proposals []Proposal // in place of snippets
	// Verdicts are those of Sluice; nil when they are not known.
	Verdicts []dynamic.Verdict
	// Faults and Ignored are as in Report.
	Faults, Ignored []string
}

// New returns the report of a model and what its probes have shown.
func New(model *nginxmodel.Model, probed []Probed, context Context) *Report {
	r := &Report{
		Summary: Summary{Verdicts: map[Verdict]int{}}, Notes: context.Notes, Proposals: context.Proposals,
		Interactions: model.Interactions(), Problems: model.Problems(), Faults: context.Faults,
		Ignored: context.Ignored,
	}
	_, settings := model.Settings()
	r.Settings = annotations(settings, "")
	for i := range probed {
		r.host(&probed[i])
	}
	r.collect()
	probes, causes := r.caused()
	ingresses := model.Ingresses()
	r.Findings = findings(context.Verdicts, ingresses)
	var closed map[string]bool
	closed, r.closes = closing(context.Verdicts)
	for _, one := range ingresses {
		shown := Ingress{
			Name: one.Key, File: one.File, Line: one.Line, Hosts: names(one.Hosts), Denied: one.Denied,
			Rejected: one.Rejected, Annotations: annotations(one.Findings, annotation.Prefix),
			Verdict: verdict(&one, closed[one.Key]), Differing: probes[one.Key], Causes: ordered(causes[one.Key]),
		}
		r.Ingresses = append(r.Ingresses, shown)
		r.Summary.Verdicts[shown.Verdict]++
	}
	slices.SortStableFunc(r.Ingresses, func(a, b Ingress) int {
		return cmp.Or(rank(b.Verdict)-rank(a.Verdict), cmp.Compare(b.Differing, a.Differing), cmp.Compare(a.Name, b.Name))
	})
	r.judgeHosts()
	r.Summary.Ingresses, r.Summary.Hosts = len(r.Ingresses), len(r.Hosts)
	r.Counts = r.count()
	r.Effects = r.effects()
	return r
}

// judgeHosts gives each host the worst verdict of its Ingresses.
func (r *Report) judgeHosts() {
	at := map[string]int{}
	for i := range r.Hosts {
		at[r.Hosts[i].Name] = i
	}
	for i := range r.Ingresses {
		one := &r.Ingresses[i]
		hosts := one.Hosts
		if len(hosts) == 0 {
			hosts = []string{"*"}
		}
		for _, name := range hosts {
			n, known := at[name]
			if !known {
				continue
			}
			host := &r.Hosts[n]
			host.Ingresses = append(host.Ingresses, one.Name)
			if rank(one.Verdict) > rank(host.Verdict) {
				host.Verdict = one.Verdict
			}
		}
	}
}

// names returns hosts for display.
func names(hosts []string) []string {
	out := slices.Clone(hosts)
	for i, one := range out {
		if one == "" {
			out[i] = "*"
		}
	}
	return out
}

func rank(v Verdict) int { return slices.Index([]Verdict{Same, Stated, Lost, Closed, Rejected}, v) }

// verdict judges an Ingress by its annotations, and by whether Sluice closes a location of it.
func verdict(one *nginxmodel.Ingress, closed bool) Verdict {
	worst := Same
	if one.Rejected != "" {
		return Rejected
	}
	for _, finding := range one.Findings {
		judged := Same
		switch {
		case finding.Verdict == annotation.Rejected:
			judged = Rejected
		case finding.Closes():
			judged = Closed
		case finding.Verdict == annotation.Unsupported:
			judged = Lost
		case finding.Verdict == annotation.Different:
			judged = Stated
		}
		if rank(judged) > rank(worst) {
			worst = judged
		}
	}
	if (closed || one.Denied != "") && rank(worst) < rank(Closed) {
		return Closed
	}
	return worst
}

func annotations(findings []annotation.Finding, prefix string) []Annotation {
	var out []Annotation
	for _, one := range findings {
		out = append(out, Annotation{
			strings.TrimPrefix(one.Key, prefix), one.Verdict.String(), one.Reason, one.Protects, one.Closes(),
		})
	}
	return out
}

// count counts the annotations of all Ingresses.
func (r *Report) count() []Count {
	at := map[string]int{}
	var all []Count
	for i := range r.Ingresses {
		for _, one := range r.Ingresses[i].Annotations {
			if _, known := at[one.Name]; !known {
				at[one.Name] = len(all)
				all = append(all, Count{Name: one.Name, Verdicts: map[string]int{}})
			}
			all[at[one.Name]].Ingresses++
			all[at[one.Name]].Verdicts[one.Verdict]++
		}
	}
	slices.SortFunc(all, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Ingresses, a.Ingresses), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// Exit returns the exit status of a command that has made the report: ExitSame or ExitDifferent.
func (r *Report) Exit() int {
	if r.Summary.Differing > r.Summary.Stated || r.Summary.Failed > 0 || len(r.Faults) > 0 || r.closes {
		return ExitDifferent
	}
	for i := range r.Ingresses {
		for _, one := range r.Ingresses[i].Annotations {
			switch one.Verdict {
			case annotation.Unsupported.String(), annotation.Denied.String(), annotation.Rejected.String():
				return ExitDifferent
			}
		}
	}
	return ExitSame
}

// Text returns the verdicts, for display.
func (c *Count) Text() string {
	parts := make([]string, 0, len(c.Verdicts))
	for _, name := range slices.Sorted(maps.Keys(c.Verdicts)) {
		parts = append(parts, name+": "+strconv.Itoa(c.Verdicts[name]))
	}
	return strings.Join(parts, ", ")
}
