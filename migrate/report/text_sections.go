package report

import (
	"fmt"
	"strings"
)

// causes writes the differences in answers.
func (p *page) causes(r *Report) {
	p.title("Differences in answers")
	if len(r.Causes) == 0 {
		p.line(0, noDifference(r))
	}
	for i := range r.Causes {
		p.cause(&r.Causes[i])
	}
}

// noDifference says that there is no difference in answers, or why none was found.
func noDifference(r *Report) string {
	if r.Summary.Probes == 0 {
		return "No probe was sent."
	}
	return "No probe has another answer."
}

func (p *page) cause(one *Cause) {
	p.line(0, fmt.Sprintf("[%d] %s (%s)", one.Number, one.Title(), one.Count()))
	if one.Stated != "" {
		p.line(4, "by design: "+one.Stated)
	}
	if len(one.Why) > 0 {
		p.line(4, "because: "+one.Because())
	}
	if steps := one.Steps(); steps != "" {
		p.line(4, "decided by: "+steps)
	}
	p.line(4, "about: "+one.About())
	for _, example := range one.Examples {
		p.line(4, example.Title())
		for _, one := range example.Differences {
			p.line(6, difference(one))
		}
	}
	if len(one.Ingresses) > 0 {
		p.line(4, "Ingresses: "+some(one.Ingresses))
	}
	p.line(4, "hosts: "+some(one.Hosts))
}

// hosts writes the hosts, those with the same causes together.
func (p *page) hosts(r *Report) {
	p.title("Hosts")
	same := 0
	for _, group := range r.LikeHosts() {
		if group.Same() {
			same += len(group.Names)
			continue
		}
		p.line(0, group.Text())
		p.line(4, strings.Join(group.Names, ", "))
	}
	for i := range r.Hosts {
		host := &r.Hosts[i]
		for _, failure := range host.Failures {
			p.line(0, "no answer to "+failure.Probe.String()+": "+failure.Reason)
		}
		if more := host.Failed - len(host.Failures); more > 0 {
			p.line(4, fmt.Sprintf("and %d more of %s", more, host.Name))
		}
	}
	if same > 0 {
		p.line(0, number(same, "host")+" without any difference.")
	}
}

// LikeHosts are hosts with the same verdict and causes.
type LikeHosts struct {
	Verdict Verdict
	Causes  []int
	Names   []string
}

// LikeHosts returns the hosts in groups, for display: those with the worst verdict first.
func (r *Report) LikeHosts() []LikeHosts {
	at := map[string]int{}
	var all []LikeHosts
	for _, verdict := range []Verdict{Rejected, Closed, Lost, Stated, Same} {
		for i := range r.Hosts {
			host := &r.Hosts[i]
			if host.Verdict != verdict {
				continue
			}
			key := fmt.Sprint(verdict, host.Causes)
			if _, known := at[key]; !known {
				at[key] = len(all)
				all = append(all, LikeHosts{Verdict: verdict, Causes: host.Causes})
			}
			all[at[key]].Names = append(all[at[key]].Names, host.Name)
		}
	}
	return all
}

// Same reports whether nothing changes for the hosts.
func (l *LikeHosts) Same() bool { return l.Verdict == Same && len(l.Causes) == 0 }

// Text returns verdict and causes, for display.
func (l *LikeHosts) Text() string {
	text := fmt.Sprintf("%s, %s", l.Verdict, number(len(l.Names), "host"))
	if len(l.Causes) > 0 {
		text += ", differences " + references(l.Causes)
	}
	return text
}

// references returns numbers as they stand at causes.
func references(causes []int) string {
	texts := make([]string, len(causes))
	for i, one := range causes {
		texts[i] = fmt.Sprintf("[%d]", one)
	}
	return strings.Join(texts, " ")
}

// ingresses writes the Ingresses, those with the same annotations and causes together.
func (p *page) ingresses(r *Report) {
	p.title("Ingresses")
	same := 0
	for _, group := range r.Alike() {
		if group.Same() {
			same += len(group.Ingresses)
			continue
		}
		p.line(0, group.Text())
		if group.Denied != "" {
			p.line(4, "503 in ingress-nginx: "+group.Denied)
		}
		if group.Rejected != "" {
			p.line(4, "not accepted by ingress-nginx: "+group.Rejected)
		}
		if len(group.Notes) > 0 {
			p.line(4, "annotations: "+strings.Join(group.Notes, ", "))
		}
		p.line(4, strings.Join(group.Titles(), ", "))
	}
	if same > 0 {
		p.line(0, number(same, "Ingress", "es")+" without any difference.")
	}
	if len(r.Ingresses) == 0 {
		p.line(0, "None is of the class.")
	}
}

// Text returns verdict and causes, for display.
func (a *Alike) Text() string {
	text := fmt.Sprintf("%s, %s", a.Verdict, number(len(a.Ingresses), "Ingress", "es"))
	if len(a.Causes) > 0 {
		text += ", differences " + references(a.Causes)
	}
	return text
}

// Titles returns the names of the Ingresses, of a few with their places.
func (a *Alike) Titles() []string {
	out := make([]string, len(a.Ingresses))
	for i, one := range a.Ingresses {
		out[i] = one.Name
		if len(a.Ingresses) <= mostNames {
			out[i] = one.title()
		}
	}
	return out
}

// effects writes what annotations lose or change.
func (p *page) effects(r *Report) {
	shown, more := r.Shown()
	if len(shown) == 0 {
		return
	}
	p.title("Annotations without the same effect")
	for i := range shown {
		one := &shown[i]
		p.line(0, fmt.Sprintf("%s: %s (%s)", one.Annotation, one.Outcome(), number(len(one.Ingresses), "Ingress", "es")))
		p.line(4, one.Reason)
		p.line(4, "Ingresses: "+some(one.Ingresses))
	}
	if more > 0 {
		p.line(0, number(more, "more reason")+" of these annotations; --format json has all.")
	}
}

// findings writes what Sluice closes or degrades beside.
func (p *page) findings(r *Report) {
	shown, more := r.shownFindings()
	if len(shown) == 0 {
		return
	}
	p.title(findingsTitle)
	for i := range shown {
		one := &shown[i]
		p.line(0, fmt.Sprintf("%s (%s)", one.Outcome(), number(len(one.Ingresses), "Ingress", "es")))
		p.line(4, one.Reason)
		p.line(4, "Ingresses: "+some(one.Ingresses))
	}
	if more > 0 {
		p.line(0, number(more, "more reason")+" of these kinds; --format json has all.")
	}
}

// findingsTitle is the title of the findings.
const findingsTitle = "What Sluice closes or degrades"

// proposals writes objects in place of snippets.
func (p *page) proposals(all []Proposal) {
	if len(all) == 0 {
		return
	}
	p.title("In place of snippets")
	for i := range all {
		one := &all[i]
		p.line(0, fmt.Sprintf("%s (%s): %s", one.Annotation, number(len(one.Ingresses), "Ingress", "es"), one.Directive))
		if one.Text != "" {
			p.line(4, one.Text)
		}
		for line := range strings.Lines(one.YAML) {
			p.put("    " + printable(strings.TrimRight(line, "\n")) + "\n")
		}
		p.line(4, "Ingresses: "+some(one.Ingresses))
	}
}
