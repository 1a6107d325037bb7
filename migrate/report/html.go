package report

import (
	_ "embed"
	"html/template"
	"io"
	"strings"
)

// page of HTML.
//
//go:embed report.gohtml
var source string

// HTML writes the report as one page without scripts, which loads nothing.
func (r *Report) HTML(w io.Writer) error {
	parsed, err := template.New("report").Funcs(template.FuncMap{
		"some": some,
		"class": func(v Verdict) string {
			return map[Verdict]string{Same: "good", Stated: "fair", Lost: "poor", Closed: "bad", Rejected: "bad"}[v]
		},
		"shown":        shown,
		"on":           on,
		"join":         func(all []string) string { return strings.Join(all, ", ") },
		"number":       number,
		"none":         noDifference,
		"numbers":      numbers,
		"effects":      func(r *Report) []Effect { all, _ := r.Shown(); return all },
		"more":         func(r *Report) int { _, more := r.Shown(); return more },
		"findings":     func(r *Report) []Finding { all, _ := r.shownFindings(); return all },
		"moreFindings": func(r *Report) int { _, more := r.shownFindings(); return more },
		"clean":        printable,
	}).Parse(source)
	if err != nil {
		return err
	}
	return parsed.Execute(w, r)
}
