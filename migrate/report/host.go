package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/migrate/answer"
	"github.com/sluiceproxy/sluice/migrate/probe"
)

// MostExamples is the number of probes that are kept of those with the same difference.
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
	Name string `json:"name"`
	// Verdict is the worst one of the Ingresses that have the host.
	Verdict Verdict `json:"verdict"`
	// Ingresses are those that have the host.
	Ingresses []string `json:"ingresses,omitempty"`
	Probes    int      `json:"probes"`
	Differing int      `json:"differing"`
	// Stated is how many of the differing probes differ by design.
	Stated int `json:"stated,omitempty"`
	// Causes are the numbers of those in Report.Causes.
	Causes []int   `json:"causes,omitempty"`
	Groups []Group `json:"groups,omitempty"`
	// Failures are probes without an answer, at most MostExamples of Failed.
	Failures []Failure `json:"failures,omitempty"`
	Failed   int       `json:"failed,omitempty"`
	Skipped  int       `json:"skipped,omitempty"`
	Omitted  int       `json:"omitted,omitempty"`
}

// Group are probes of a host that differ in the same fields and are decided in the same steps, by one Ingress.
type Group struct {
	// Cause is the number of the cause, Stated as in [Cause].
	Cause  int    `json:"cause"`
	Stated string `json:"stated,omitempty"`
	// Why is why Sluice closes the location, or ingress-nginx has not the Ingress; empty for neither.
	Why string `json:"why,omitempty"`
	// Ingress is the one that decides in ingress-nginx; empty for none.
	Ingress string `json:"ingress,omitempty"`
	// Want and Got are where the answers are made.
	Want   answer.Step    `json:"want,omitempty"`
	Got    answer.Step    `json:"got,omitempty"`
	Fields []answer.Field `json:"fields"`
	Status string         `json:"status,omitempty"`
	// Probes is their number.
	Probes int `json:"probes"`
	// Reasons are what the probes are about.
	Reasons  []ReasonCount `json:"reasons"`
	Examples []Example     `json:"examples"`
}

// Difference is a probe whose answers differ.
type Difference struct {
	Probe  probe.Probe
	Fields []answer.Difference
	// Want and Got are the answers.
	Want, Got answer.Answer
	// Ingress is the one that decides in ingress-nginx; empty for none. Decided is where, if Want does not say it.
	Ingress string
	Decided answer.Step
	// Why is why Sluice closes the location, or ingress-nginx has not the Ingress; empty for neither.
	Why string
	// Resolved says that Sluice answers as ingress-nginx answers the path without its dot segments.
	Resolved bool
}

// Step returns where ingress-nginx makes the answer; empty when that is not known.
func (d *Difference) Step() answer.Step { return cmp.Or(d.Want.Step, d.Decided) }

// Add adds a probe whose answers differ.
func (p *Probed) Add(one *Difference) {
	of := Group{Ingress: one.Ingress, Want: one.Step(), Got: one.Got.Step, Stated: stated(one), Why: one.Why}
	for _, difference := range one.Fields {
		of.Fields = append(of.Fields, difference.Field)
		if difference.Field == answer.Status {
			of.Status = difference.Want + " to " + difference.Got
		}
	}
	key := of.Ingress + "\n" + of.Why + "\n" + of.key()
	if p.groups == nil {
		p.groups = map[string]*Group{}
	}
	group := p.groups[key]
	if group == nil {
		group = &of
		p.groups[key] = group
	}
	group.Probes++
	group.Fields = union(group.Fields, of.Fields)
	if group.Status != of.Status {
		group.Status = ""
	}
	if group.Want != of.Want || group.Got != of.Got {
		group.Want, group.Got = "", ""
	}
	group.reason(one.Probe.Reason)
	if len(group.Examples) < MostExamples {
		group.Examples = append(group.Examples, Example{one.Probe, one.Ingress, one.Fields})
	}
}

// union returns the fields of both.
func union(a, b []answer.Field) []answer.Field {
	for _, field := range b {
		if !slices.Contains(a, field) {
			a = append(a, field)
		}
	}
	return a
}

// reason counts a reason.
func (g *Group) reason(reason probe.Reason) {
	for i := range g.Reasons {
		if g.Reasons[i].Reason == reason {
			g.Reasons[i].Probes++
			return
		}
	}
	g.Reasons = append(g.Reasons, ReasonCount{reason, 1})
}

// Fail adds a probe without an answer.
func (p *Probed) Fail(one probe.Probe, reason string) {
	p.failed++
	if len(p.failures) < MostExamples {
		p.failures = append(p.failures, Failure{one, reason})
	}
}

// host adds what the probes of a host have shown.
func (r *Report) host(of *Probed) {
	host := Host{
		Name: of.Host, Probes: of.Probes, Failures: of.failures, Failed: of.failed, Skipped: of.Skipped,
		Omitted: of.Omitted, Verdict: Same,
	}
	if host.Name == "_" {
		host.Name = "*"
	}
	for _, group := range of.groups {
		host.Groups = append(host.Groups, *group)
		host.Differing += group.Probes
		if group.Stated != "" {
			host.Stated += group.Probes
		}
	}
	slices.SortFunc(host.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Probes, a.Probes), cmp.Compare(a.Ingress, b.Ingress), cmp.Compare(a.key(), b.key()))
	})
	r.Hosts = append(r.Hosts, host)
	r.Summary.Probes += host.Probes
	r.Summary.Differing += host.Differing
	r.Summary.Stated += host.Stated
	r.Summary.Failed += host.Failed
	r.Summary.Skipped += host.Skipped
	r.Summary.Omitted += host.Omitted
}

// caused counts for each Ingress the differing probes that are not by design, and collects the causes.
func (r *Report) caused() (probes map[string]int, causes map[string][]int) {
	probes, causes = map[string]int{}, map[string][]int{}
	for i := range r.Hosts {
		for j := range r.Hosts[i].Groups {
			group := &r.Hosts[i].Groups[j]
			probes[group.Ingress] += group.Probes
			causes[group.Ingress] = append(causes[group.Ingress], group.Cause)
		}
	}
	return probes, causes
}

// Names returns the fields, for display.
func (g *Group) Names() string {
	texts := make([]string, len(g.Fields))
	for i, field := range g.Fields {
		texts[i] = string(field)
	}
	return strings.Join(texts, ", ")
}
