package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/sluiceproxy/sluice/migrate/answer"
	"github.com/sluiceproxy/sluice/migrate/probe"
)

// Cause are differences of all hosts with one cause: by design for one reason, of locations that are closed for reasons
// of one kind, of one status in place of another, or in the same fields; and decided in the same steps.
type Cause struct {
	// Number counts from 1. Hosts and Ingresses refer to it.
	Number int `json:"number"`
	// Stated is why the difference is by design; empty for one that is not.
	Stated string `json:"stated,omitempty"`
	// Why are the reasons for which Sluice closes the locations, or ingress-nginx has not the Ingresses; ordered.
	Why []string `json:"why,omitempty"`
	// Want and Got are where the answers are made; empty where that is not known, and where it is in several steps.
	Want   answer.Step    `json:"want,omitempty"`
	Got    answer.Step    `json:"got,omitempty"`
	Fields []answer.Field `json:"fields"`
	// Status is the change of the status, such as 204 to 200; empty when there are several, or none.
	Status string `json:"status,omitempty"`
	// Probes is their number.
	Probes int `json:"probes"`
	// Reasons are what the probes are about, the most frequent first.
	Reasons []ReasonCount `json:"reasons"`
	// Ingresses are those that decide in ingress-nginx, Hosts those of the probes; both are complete and ordered.
	Ingresses []string `json:"ingresses,omitempty"`
	Hosts     []string `json:"hosts"`
	// Examples are at most MostExamples, of different hosts and reasons as far as there are any.
	Examples []Example `json:"examples"`
}

// ReasonCount is how many probes have a reason.
type ReasonCount struct {
	Reason probe.Reason `json:"reason"`
	Probes int          `json:"probes"`
}

// collect puts the groups of all hosts together by their cause, and numbers the causes.
func (r *Report) collect() {
	at := map[string]*Cause{}
	var all []*Cause
	for i := range r.Hosts {
		host := &r.Hosts[i]
		for j := range host.Groups {
			group := &host.Groups[j]
			key := group.key()
			if at[key] == nil {
				at[key] = &Cause{
					Stated: group.Stated, Want: group.Want, Got: group.Got, Fields: group.Fields, Status: group.Status,
				}
				all = append(all, at[key])
			}
			at[key].add(host.Name, group)
		}
	}
	slices.SortStableFunc(all, func(a, b *Cause) int {
		if (a.Stated == "") != (b.Stated == "") {
			return strings.Compare(a.Stated, b.Stated)
		}
		return cmp.Compare(b.Probes, a.Probes)
	})
	for i, one := range all {
		one.Number = i + 1
		slices.Sort(one.Ingresses)
		one.Ingresses = slices.Compact(one.Ingresses)
		slices.Sort(one.Why)
		one.Why = slices.Compact(one.Why)
		slices.SortStableFunc(one.Reasons, func(a, b ReasonCount) int { return cmp.Compare(b.Probes, a.Probes) })
		r.Causes = append(r.Causes, *one)
	}
	for i := range r.Hosts {
		host := &r.Hosts[i]
		for j := range host.Groups {
			host.Groups[j].Cause = at[host.Groups[j].key()].Number
			host.Causes = append(host.Causes, host.Groups[j].Cause)
		}
		host.Causes = ordered(host.Causes)
	}
}

// ordered sorts numbers and drops double ones.
func ordered(numbers []int) []int {
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// key is equal for groups with the same cause. Where the status differs, other fields differ for that.
func (g *Group) key() string {
	switch {
	case g.Stated != "":
		return g.Stated
	case g.Why != "":
		return kindOf(g.Why)
	case g.Status != "":
		return strings.Join([]string{string(g.Want), string(g.Got), g.Status}, "\n")
	}
	return strings.Join([]string{string(g.Want), string(g.Got), g.Names()}, "\n")
}

// kindOf returns a reason without the words in it that differ between reasons of one kind: names, paths, numbers.
func kindOf(reason string) string {
	words := strings.Fields(reason)
	for i, word := range words {
		if strings.ContainsFunc(word, func(r rune) bool {
			return !unicode.IsLetter(r) && !strings.ContainsRune("-,:;.", r)
		}) {
			words[i] = "_"
		}
	}
	return strings.Join(words, " ")
}

// Because returns why the locations are closed, for display: of many reasons, the first ones.
func (c *Cause) Because() string {
	shown := c.Why[:min(len(c.Why), mostEffects)]
	text := strings.Join(shown, "; ")
	if more := len(c.Why) - len(shown); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// add adds the probes of a host.
func (c *Cause) add(host string, group *Group) {
	c.Probes += group.Probes
	if group.Why != "" {
		c.Why = append(c.Why, group.Why)
	}
	c.Fields = union(c.Fields, group.Fields)
	if c.Status != group.Status {
		c.Status = ""
	}
	if c.Want != group.Want || c.Got != group.Got {
		c.Want, c.Got = "", ""
	}
	for _, reason := range group.Reasons {
		at := slices.IndexFunc(c.Reasons, func(one ReasonCount) bool { return one.Reason == reason.Reason })
		if at < 0 {
			c.Reasons = append(c.Reasons, reason)
			continue
		}
		c.Reasons[at].Probes += reason.Probes
	}
	if group.Ingress != "" {
		c.Ingresses = append(c.Ingresses, group.Ingress)
	}
	if len(c.Hosts) == 0 || c.Hosts[len(c.Hosts)-1] != host {
		c.Hosts = append(c.Hosts, host)
	}
	for _, one := range group.Examples {
		if len(c.Examples) == MostExamples {
			return
		}
		if !slices.ContainsFunc(c.Examples, func(known Example) bool { return known.Probe.Reason == one.Probe.Reason }) {
			c.Examples = append(c.Examples, one)
		}
	}
}

// Title returns what differs, for display.
func (c *Cause) Title() string {
	names := make([]string, 0, len(c.Fields))
	for _, field := range c.Fields {
		if field == answer.Status && c.Status != "" {
			names = append(names, "status "+c.Status)
			continue
		}
		names = append(names, string(field))
	}
	return strings.Join(names, ", ")
}

// Count returns the numbers of probes, hosts and Ingresses, for display.
func (c *Cause) Count() string {
	return fmt.Sprintf("%s, %s, %s", number(c.Probes, "probe"), number(len(c.Hosts), "host"),
		number(len(c.Ingresses), "Ingress", "es"))
}

// Steps returns where the answers are made, for display; empty when that is not known.
func (c *Cause) Steps() string {
	switch {
	case c.Want == "" && c.Got == "":
		return ""
	case c.Got == "":
		return string(c.Want) + " in ingress-nginx"
	case c.Want == "":
		return string(c.Got) + " in Sluice"
	case c.Want == c.Got:
		return string(c.Want)
	}
	return fmt.Sprintf("%s in ingress-nginx, %s in Sluice", c.Want, c.Got)
}

// mostReasons is how many reasons are shown.
const mostReasons = 8

// About returns the reasons, for display.
func (c *Cause) About() string {
	texts := make([]string, 0, len(c.Reasons))
	for i, one := range c.Reasons {
		if i == mostReasons {
			texts = append(texts, fmt.Sprintf("and %d more", len(c.Reasons)-i))
			break
		}
		texts = append(texts, fmt.Sprintf("%s (%d)", one.Reason, one.Probes))
	}
	return strings.Join(texts, "; ")
}

// Example is a probe with its differences.
type Example struct {
	Probe probe.Probe `json:"probe"`
	// Ingress is the one that decides in ingress-nginx; empty for none.
	Ingress     string              `json:"ingress,omitempty"`
	Differences []answer.Difference `json:"differences"`
}

// Title returns the request and the Ingress, for display.
func (e *Example) Title() string {
	if e.Ingress == "" {
		return e.Probe.String()
	}
	return e.Probe.String() + " (" + e.Ingress + ")"
}
