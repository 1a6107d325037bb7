package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/migrate/answer"
	"github.com/sluiceproxy/sluice/migrate/probe"
)

// MostExamples is the number of probes that are shown of those with the same difference.
const MostExamples = 5

// Probed is what the probes of a host have shown.
type Probed struct {
	Host string
	// Probes, Skipped and Omitted are as in [Summary].
	Probes, Skipped, Omitted int
	groups                   map[string]*Group
	failures                 []Failure
	failed                   int
}

// Failure is a probe without an answer.
type Failure struct {
	Probe  probe.Probe `json:"probe"`
	Reason string      `json:"reason"`
}

// Host is what is known of a host.
type Host struct {
	// Name is * for hosts that are not declared.
	Name   string  `json:"name"`
	Probes int     `json:"probes"`
	Groups []Group `json:"groups,omitempty"`
	// Failures are probes without an answer, at most MostExamples of Failed.
	Failures  []Failure `json:"failures,omitempty"`
	Failed    int       `json:"failed,omitempty"`
	Differing int       `json:"differing"`
	Skipped   int       `json:"skipped,omitempty"`
	Omitted   int       `json:"omitted,omitempty"`
}

// Group are probes of a host that differ in the same fields and are decided in the same step, by one Ingress.
type Group struct {
	// Ingress is the one that decides in ingress-nginx; empty for none.
	Ingress string `json:"ingress,omitempty"`
	// Want and Got are where the answers are made.
	Want   answer.Step    `json:"want,omitempty"`
	Got    answer.Step    `json:"got,omitempty"`
	Fields []answer.Field `json:"fields"`
	// Probes is their number.
	Probes int `json:"probes"`
	// Reasons are what the probes are about.
	Reasons  []probe.Reason `json:"reasons"`
	Examples []Example      `json:"examples"`
}

// Example is a probe with its differences.
type Example struct {
	Probe       probe.Probe         `json:"probe"`
	Differences []answer.Difference `json:"differences"`
}

// Add adds a probe whose answers differ.
func (p *Probed) Add(one probe.Probe, want, got answer.Answer, differences []answer.Difference) {
	fields := make([]answer.Field, len(differences))
	key := cmp.Or(want.Ingress, one.Ingress) + "\n" + string(want.Step) + "\n" + string(got.Step)
	for i, difference := range differences {
		fields[i] = difference.Field
		key += "\n" + string(difference.Field)
	}
	if p.groups == nil {
		p.groups = map[string]*Group{}
	}
	group := p.groups[key]
	if group == nil {
		group = &Group{Ingress: cmp.Or(want.Ingress, one.Ingress), Want: want.Step, Got: got.Step, Fields: fields}
		p.groups[key] = group
	}
	group.Probes++
	if !slices.Contains(group.Reasons, one.Reason) {
		group.Reasons = append(group.Reasons, one.Reason)
	}
	if len(group.Examples) < MostExamples {
		group.Examples = append(group.Examples, Example{one, differences})
	}
}

// Fail adds a probe without an answer.
func (p *Probed) Fail(one probe.Probe, reason string) {
	p.failed++
	if len(p.failures) < MostExamples {
		p.failures = append(p.failures, Failure{one, reason})
	}
}

// host adds what the probes of a host have shown, and counts the differences that Ingresses cause.
func (r *Report) host(of *Probed, caused map[string]int) {
	host := Host{
		Name: of.Host, Probes: of.Probes, Failures: of.failures, Failed: of.failed, Skipped: of.Skipped,
		Omitted: of.Omitted,
	}
	if host.Name == "_" {
		host.Name = "*"
	}
	for _, group := range of.groups {
		host.Groups = append(host.Groups, *group)
		host.Differing += group.Probes
		caused[group.Ingress] += group.Probes
	}
	slices.SortFunc(host.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Probes, a.Probes), cmp.Compare(a.Ingress, b.Ingress), cmp.Compare(a.Want, b.Want),
			cmp.Compare(a.Got, b.Got), slices.Compare(a.Fields, b.Fields))
	})
	r.Hosts = append(r.Hosts, host)
	r.Summary.Probes += host.Probes
	r.Summary.Differing += host.Differing
	r.Summary.Failed += host.Failed
	r.Summary.Skipped += host.Skipped
	r.Summary.Omitted += host.Omitted
}

// Names returns the fields, for display.
func (g *Group) Names() string {
	texts := make([]string, len(g.Fields))
	for i, field := range g.Fields {
		texts[i] = string(field)
	}
	return strings.Join(texts, ", ")
}

// About returns the reasons, for display.
func (g *Group) About() string {
	texts := make([]string, len(g.Reasons))
	for i, reason := range g.Reasons {
		texts[i] = string(reason)
	}
	return strings.Join(texts, "; ")
}
