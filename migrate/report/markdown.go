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
	m.ingresses(r.Ingresses)
	m.hosts(r.Hosts)
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

func (m *markdown) ingresses(all []Ingress) {
	m.title("Ingresses")
	m.table("Ingress", "Verdict", "Hosts", "Differing probes", "Annotations")
	for i := range all {
		one := &all[i]
		var notes []string
		if one.Denied != "" {
			notes = append(notes, "503 in ingress-nginx: "+one.Denied)
		}
		for _, note := range one.Annotations {
			if note.Reason != "" {
				notes = append(notes, note.text())
			}
		}
		m.row(one.title(), string(one.Verdict), some(one.Hosts), fmt.Sprint(one.Differing),
			strings.Join(notes, "; "))
	}
}

func (m *markdown) hosts(all []Host) {
	m.title("Differences in answers")
	m.table("Host", "Ingress", "Request", "Difference", "Like it")
	for i := range all {
		for j := range all[i].Groups {
			group := &all[i].Groups[j]
			for k, example := range group.Examples {
				texts := make([]string, len(example.Differences))
				for n, one := range example.Differences {
					texts[n] = difference(one)
				}
				like := ""
				if k == 0 {
					like = group.count()
				}
				m.row(all[i].Name, group.Owner(), example.Probe.String()+" ("+string(example.Probe.Reason)+")",
					strings.Join(texts, "; "), like)
			}
		}
		for _, failure := range all[i].Failures {
			m.row(all[i].Name, failure.Probe.Ingress, failure.Probe.String(), "no answer: "+failure.Reason, "")
		}
	}
}

// others writes what is not about one Ingress.
func (m *markdown) others(r *Report) {
	if len(r.Interactions)+len(r.Problems) > 0 {
		m.title("Ingresses that change others")
		m.table("Ingress", "Host", "Effect", "Affected")
		for _, one := range r.Interactions {
			m.row(one.Cause, one.Host, one.Effect, some(one.Affected))
		}
		for _, one := range r.Problems {
			m.row(one.Ingress, one.Host, one.Reason, "")
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
	if len(r.Faults) > 0 {
		m.title("Not read")
		for _, one := range r.Faults {
			m.put("- " + cell(one) + "\n")
		}
	}
}
