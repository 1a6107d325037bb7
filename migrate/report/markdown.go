package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// JSON writes the report for programs.
func (r *Report) JSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// Markdown writes the report as a page of Markdown with tables.
func (r *Report) Markdown(w io.Writer) error {
	m := &markdown{}
	m.put("# " + heading + "\n\n")
	m.table("", "Number")
	m.row("Ingresses", fmt.Sprintf("%d (%s)", r.Summary.Ingresses, r.Summary.VerdictText()))
	m.row("Hosts", fmt.Sprint(r.Summary.Hosts))
	m.row("Probes", r.Summary.ProbeText())
	for _, note := range r.Notes {
		m.put("\n" + cell(note) + "\n")
	}
	m.list("Not read", r.Faults)
	m.causes(r)
	m.hosts(r)
	m.ingresses(r)
	m.findings(r)
	m.effects(r)
	m.proposals(r.Proposals)
	m.others(r)
	_, err := io.WriteString(w, m.out.String())
	return err
}

type markdown struct{ out strings.Builder }

func (m *markdown) put(text string) { _, _ = m.out.WriteString(text) } // It never fails.

// cell escapes what would be markup, in one line.
func cell(text string) string {
	text = strings.Join(strings.Fields(printable(text)), " ")
	return strings.NewReplacer("\\", `\\`, "|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`,
		"]", `\]`).Replace(text)
}

func (m *markdown) row(cells ...string) {
	for _, one := range cells {
		m.put("| " + cell(one) + " ")
	}
	m.put("|\n")
}

func (m *markdown) table(names ...string) {
	m.row(names...)
	m.put(strings.Repeat("|---", len(names)) + "|\n")
}

func (m *markdown) title(text string) { m.put("\n## " + text + "\n\n") }

func (m *markdown) list(title string, all []string) {
	if len(all) == 0 {
		return
	}
	m.title(title)
	for _, one := range all {
		m.put("- " + cell(one) + "\n")
	}
}

func (m *markdown) causes(r *Report) {
	m.title("Differences in answers")
	if len(r.Causes) == 0 {
		m.put(noDifference(r) + "\n")
	}
	for i := range r.Causes {
		one := &r.Causes[i]
		m.put(fmt.Sprintf("### %d. %s\n\n", one.Number, cell(one.Title())))
		m.put(one.Count() + "\n\n")
		m.item("by design", one.Stated)
		m.item("because", one.Because())
		m.item("decided by", one.Steps())
		m.item("about", one.About())
		m.item("Ingresses", some(one.Ingresses))
		m.item("hosts", some(one.Hosts))
		m.put("\n")
		m.table("Request", "Field", "ingress-nginx", "Sluice")
		for _, example := range one.Examples {
			for n, difference := range example.Differences {
				request := example.Title()
				if n > 0 {
					request = ""
				}
				m.row(request, string(difference.Field), shown(difference.Want), shown(difference.Got))
			}
		}
		m.put("\n")
	}
}

func (m *markdown) item(name, text string) {
	if text != "" {
		m.put("- " + name + ": " + cell(text) + "\n")
	}
}

func (m *markdown) hosts(r *Report) {
	m.title("Hosts")
	m.table("Verdict", "Differences", "Hosts")
	for _, group := range r.LikeHosts() {
		m.row(string(group.Verdict), numbers(group.Causes), strings.Join(group.Names, ", "))
	}
	var failures []string
	for i := range r.Hosts {
		for _, failure := range r.Hosts[i].Failures {
			failures = append(failures, failure.Probe.String()+": "+failure.Reason)
		}
	}
	m.list("Probes without an answer", failures)
}

func (m *markdown) ingresses(r *Report) {
	m.title("Ingresses")
	m.table("Verdict", "Differences", "Annotations", "Ingresses")
	for _, group := range r.Alike() {
		notes := strings.Join(group.Notes, ", ")
		if group.Denied != "" {
			notes = "503 in ingress-nginx: " + group.Denied + "; " + notes
		}
		if group.Rejected != "" {
			notes = "not accepted by ingress-nginx: " + group.Rejected + "; " + notes
		}
		m.row(string(group.Verdict), group.Numbers(), strings.TrimSuffix(notes, "; "), strings.Join(group.Titles(), ", "))
	}
}

func (m *markdown) findings(r *Report) {
	shown, more := r.shownFindings()
	if len(shown) == 0 {
		return
	}
	m.title(findingsTitle)
	m.table("Outcome", "Reason", "Number", "Ingresses")
	for i := range shown {
		one := &shown[i]
		m.row(one.Outcome(), one.Reason, fmt.Sprint(len(one.Ingresses)), some(one.Ingresses))
	}
	if more > 0 {
		m.put("\n" + number(more, "more reason") + " of these kinds; --format json has all.\n")
	}
}

func (m *markdown) effects(r *Report) {
	shown, more := r.Shown()
	if len(shown) == 0 {
		return
	}
	m.title("Annotations without the same effect")
	m.table("Annotation", "Outcome", "Reason", "Number", "Ingresses")
	for i := range shown {
		one := &shown[i]
		m.row(one.Annotation, one.Outcome(), one.Reason, fmt.Sprint(len(one.Ingresses)), some(one.Ingresses))
	}
	if more > 0 {
		m.put("\n" + number(more, "more reason") + " of these annotations; --format json has all.\n")
	}
}

func (m *markdown) proposals(all []Proposal) {
	if len(all) == 0 {
		return
	}
	m.title("In place of snippets")
	for i := range all {
		one := &all[i]
		m.item(fmt.Sprintf("%s, %s (%s)", one.Annotation, number(len(one.Ingresses), "Ingress", "es"),
			cell(some(one.Ingresses))), one.Directive)
		if one.Text != "" {
			m.put("\n  " + cell(one.Text) + "\n")
		}
		if one.YAML != "" {
			m.put("\n  ```yaml\n")
			for line := range strings.Lines(one.YAML) {
				m.put("  " + printable(strings.TrimRight(line, "\n")) + "\n")
			}
			m.put("  ```\n\n")
		}
	}
}

// others writes what is not about one Ingress.
func (m *markdown) others(r *Report) {
	if len(r.Interactions)+len(r.Problems) > 0 {
		m.title("Ingresses that change others")
		m.table("Ingress", "Host", "Effect", "Affected")
		for _, group := range r.LikeInteractions() {
			for i, one := range group.All {
				if i == mostNames {
					m.row(fmt.Sprintf("and %d more", len(group.All)-i), "", "", "")
					break
				}
				m.row(one.Cause, one.Host, one.Effect, some(one.Affected))
			}
		}
		for _, one := range r.LikeProblems() {
			m.row(some(one.Ingresses), "", one.Reason, "")
		}
	}
	if len(r.Settings) > 0 {
		m.title("ConfigMap")
		m.table("Key", "Verdict", "Reason")
		for _, one := range r.Settings {
			m.row(one.Name, one.Verdict, one.Reason)
		}
	}
	if len(r.Counts) > 0 {
		m.title("Annotations by use")
		m.table("Annotation", "Ingresses", "Verdicts")
		for i := range r.Counts {
			one := &r.Counts[i]
			m.row(one.Name, fmt.Sprint(one.Ingresses), one.Text())
		}
	}
	m.list("Fields that do not exist", r.Ignored)
}
