package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sluiceproxy/sluice/migrate/answer"
)

// DefaultWidth is the width of a terminal in columns.
const DefaultWidth = 80

const heading = "From ingress-nginx to Sluice"

// narrowest is the least width that lines are broken at.
const narrowest = 40

// Text writes the report for a terminal or a file: plain lines of at most width columns, or DefaultWidth for 0. Only
// words without spaces, such as URLs, may be longer. Control characters are shown as "?".
func (r *Report) Text(w io.Writer, width int) error {
	if width <= 0 {
		width = DefaultWidth
	}
	p := &page{width: max(width, narrowest)}
	p.summary(r)
	p.list("Not read", r.Faults)
	p.causes(r)
	p.hosts(r)
	p.ingresses(r)
	p.findings(r)
	p.effects(r)
	p.proposals(r.Proposals)
	p.interactions(r)
	p.annotations("ConfigMap", r.Settings)
	p.counts(r.Counts)
	p.list("Fields that do not exist", r.Ignored)
	_, err := io.WriteString(w, p.out.String())
	return err
}

// page writes lines.
type page struct {
	out   strings.Builder
	width int
}

// line writes a text, with further lines indented.
func (p *page) line(indent int, text string) {
	column := 0
	for _, word := range strings.Fields(printable(text)) {
		length := utf8.RuneCountInString(word)
		switch {
		case column == 0:
			p.put(strings.Repeat(" ", indent))
			column = indent
		case column+1+length > p.width:
			p.put("\n" + strings.Repeat(" ", indent+2))
			column = indent + 2
		default:
			p.put(" ")
			column++
		}
		p.put(word)
		column += length
	}
	p.put("\n")
}

func (p *page) put(text string) { _, _ = p.out.WriteString(text) } // It never fails.

func (p *page) title(text string) {
	p.put("\n" + text + "\n" + strings.Repeat("-", utf8.RuneCountInString(text)) + "\n")
}

// printable replaces characters that a terminal may take as commands.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) && !unicode.IsSpace(r) {
			return '?'
		}
		return r
	}, text)
}

func (p *page) summary(r *Report) {
	s := &r.Summary
	p.put(heading + "\n" + strings.Repeat("=", len(heading)) + "\n")
	p.line(0, fmt.Sprintf("Ingresses: %d (%s)", s.Ingresses, s.VerdictText()))
	p.line(0, fmt.Sprintf("Hosts:     %d", s.Hosts))
	p.line(0, "Probes:    "+s.ProbeText())
	for _, note := range r.Notes {
		p.line(0, note)
	}
}

// VerdictText returns the numbers of Ingresses by verdict, for display.
func (s *Summary) VerdictText() string {
	var parts []string
	for _, one := range []Verdict{Same, Stated, Lost, Closed, Rejected} {
		if n := s.Verdicts[one]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s: %d", one, n))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// ProbeText returns the numbers of probes, for display.
func (s *Summary) ProbeText() string {
	text := fmt.Sprintf("%d answered, %d with differences", s.Probes-s.Failed, s.Differing)
	if s.Stated > 0 {
		text += fmt.Sprintf(", %d of these by design", s.Stated)
	}
	for _, one := range []struct {
		number int
		text   string
	}{{s.Failed, "without an answer"}, {s.Skipped, "not sent"}, {s.Omitted, "beyond the limit"}} {
		if one.number > 0 {
			text += fmt.Sprintf(", %d %s", one.number, one.text)
		}
	}
	return text
}

// Place returns where the Ingress is declared, as FILE:LINE; empty when that is not known.
func (i *Ingress) Place() string {
	if i.File == "" {
		return ""
	}
	return i.File + ":" + strconv.Itoa(i.Line)
}

// title returns the name and the place.
func (i *Ingress) title() string {
	if place := i.Place(); place != "" {
		return i.Name + " (" + place + ")"
	}
	return i.Name
}

func (a *Annotation) text() string { return a.Name + ": " + a.Verdict + ": " + a.Reason }

// number returns a number with a noun, to which the ending is added unless the number is 1; "s" by default.
func number(n int, noun string, ending ...string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case len(ending) > 0:
		return strconv.Itoa(n) + " " + noun + ending[0]
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// difference returns one difference for display.
func difference(one answer.Difference) string {
	return fmt.Sprintf("%s: %s in ingress-nginx, %s in Sluice", one.Field, shown(one.Want), shown(one.Got))
}

func shown(value string) string {
	if value == "" {
		return "none"
	}
	return value
}

func (p *page) interactions(r *Report) {
	if len(r.Interactions)+len(r.Problems) == 0 {
		return
	}
	p.title("Ingresses that change others")
	for _, group := range r.LikeInteractions() {
		p.line(0, number(len(group.All), "Ingress", "es")+": "+group.Effect)
		for i, one := range group.All {
			if i == mostNames {
				p.line(4, fmt.Sprintf("and %d more; --format json has all", len(group.All)-i))
				break
			}
			p.line(4, one.Cause+on(one.Host)+" affects "+some(one.Affected))
		}
	}
	for _, one := range r.LikeProblems() {
		p.line(0, number(len(one.Ingresses), "Ingress", "es")+": "+one.Reason)
		p.line(4, some(one.Ingresses))
	}
}

// mostNames is how many names of a list are shown.
const mostNames = 20

// some returns names for display, the first ones of a long list.
func some(names []string) string {
	if more := len(names) - mostNames; more > 0 {
		return strings.Join(names[:mostNames], ", ") + " and " + strconv.Itoa(more) + " more"
	}
	return strings.Join(names, ", ")
}

func on(host string) string {
	switch host {
	case "":
		return ""
	case "_":
		return " (hosts that are not declared)"
	}
	return " (" + host + ")"
}

func (p *page) annotations(title string, all []Annotation) {
	if len(all) == 0 {
		return
	}
	p.title(title)
	for i := range all {
		one := &all[i]
		if one.Reason == "" {
			p.line(0, one.Name+": "+one.Verdict)
		} else {
			p.line(0, one.text())
		}
	}
}

func (p *page) counts(all []Count) {
	if len(all) == 0 {
		return
	}
	p.title("Annotations by use")
	for i := range all {
		one := &all[i]
		p.line(0, fmt.Sprintf("%d %s (%s)", one.Ingresses, one.Name, one.Text()))
	}
}

func (p *page) list(title string, all []string) {
	if len(all) == 0 {
		return
	}
	p.title(title)
	for _, one := range all {
		p.line(0, one)
	}
}
