package operations

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// quiet are the metrics of our rules and board that stay still here: the traffic makes no such trouble, no endpoint
// comes or goes, and there are no CRLs.
func quiet() []string {
	return []string{
		"sluice_service_ejections_total", "sluice_service_panics_total", "sluice_service_retries_exhausted_total",
		"sluice_service_saturated_total", "sluice_endpoint_change_seconds_bucket", "sluice_tls_crl_next_update",
	}
}

// panel is a part of a board.
type panel struct {
	Type, Title, Description string
	Targets                  []struct{ Expr string }
}

// board reads our board.
func board(t *testing.T) (panels []panel, variables []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "deploy/grafana/sluice.json"))
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		UID, Title  string
		Panels      []panel
		Annotations struct{ List []struct{ Expr string } }
		Templating  struct {
			List []struct{ Name, Definition string }
		}
	}
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if read.UID == "" || read.Title != "Sluice" || len(read.Annotations.List) != 1 {
		t.Errorf("the board is %q, %q with %d annotations", read.UID, read.Title, len(read.Annotations.List))
	}
	for _, variable := range read.Templating.List {
		variables = append(variables, variable.Name)
		if inner, ok := strings.CutPrefix(variable.Definition, "label_values("); ok {
			series, _, _ := strings.Cut(inner, ", ")
			read.Panels = append(read.Panels, panel{
				Type: "variable", Title: variable.Name,
				Targets: []struct{ Expr string }{{series}},
			})
		}
	}
	read.Panels = append(read.Panels, panel{Type: "annotation", Title: "configurations", Targets: read.Annotations.List})
	return read.Panels, variables
}

// chosen fills in the variables as Grafana does when everything is chosen.
func chosen(expression string) string {
	return strings.NewReplacer("$__rate_interval", "2m", "$interval", "2m", "$job", ".*", "$entrypoint", ".*", "$service",
		".*").Replace(expression)
}

// panels answers each expression of the board: no panel is empty.
func (w *world) panels(t *testing.T) {
	panels, _ := board(t)
	var asked []string
	var from []panel
	for _, panel := range panels {
		if panel.Type != "row" && (panel.Title == "" || len(panel.Targets) == 0) || strings.Contains("stat timeseries table",
			panel.Type) && panel.Description == "" {
			t.Errorf("panel %q says too little", panel.Title)
		}
		for _, target := range panel.Targets {
			asked, from = append(asked, chosen(target.Expr)), append(from, panel)
		}
	}
	if len(asked) < 30 {
		t.Errorf("the board has %d expressions", len(asked))
	}
	for i, answer := range w.ask(t, asked...) {
		if strings.Contains(answer.Expr, "$") {
			t.Errorf("%s: unknown variable in %s", from[i].Title, answer.Expr)
		}
		if !answer.shows() && !answer.asksOnly(quiet()) {
			t.Errorf("%s shows nothing: %s", from[i].Title, answer.Expr)
		}
	}
}

// shows reports whether the result has values.
func (r result) shows() bool {
	for _, series := range r.Series {
		if series.Value != "NaN" { // A percentile of nothing is not drawn.
			return true
		}
	}
	return false
}

// asksOnly reports whether all selected series are among the names.
func (r result) asksOnly(names []string) bool {
	return !slices.ContainsFunc(r.Selectors, func(s selector) bool { return !slices.Contains(names, s.Metric) })
}

// rulesAsk holds the series of all rules against a scrape: their names and their labels.
func (w *world) rulesAsk(t *testing.T) {
	reference := page(t, "docs/reference/metrics.md")
	var expressions []string
	for _, rule := range w.rules(t) {
		expressions = append(expressions, rule.Expr)
	}
	var wanted []string
	for _, answer := range w.ask(t, expressions...) {
		for _, asked := range answer.Selectors {
			if !slices.Contains(quiet(), asked.Metric) {
				wanted = append(wanted, asked.every())
			} else if !strings.Contains(reference, "`"+asked.Metric+"`") {
				t.Errorf("there is no metric %s", asked.Metric)
			}
		}
	}
	for _, answer := range w.ask(t, wanted...) {
		if len(answer.Series) == 0 {
			t.Errorf("a rule uses %s, which has no series", answer.Expr)
		}
	}
}

// every returns an expression for all series with the labels of the selector, except for labels of the scraper and of
// buckets.
func (s selector) every() string {
	own := slices.DeleteFunc(slices.Clone(s.Labels), func(label string) bool {
		return slices.Contains([]string{"job", "instance", "le"}, label)
	})
	if len(own) == 0 {
		return s.Metric
	}
	return s.Metric + "{" + strings.Join(own, `!="", `) + `!=""}`
}

// alerts checks the alerts of a serving Sluice with a service that is down, a refused router and a certificate that
// expires in a few hours.
func (w *world) alerts(t *testing.T) {
	want := map[string]bool{
		"SluiceServiceWithoutServers": true, "SluiceConfigurationRefused": true, "SluiceCertificateExpiresSoon": true,
		"SluiceCertificateExpiresNow": true,
	}
	var expressions, names []string
	for _, rule := range w.rules(t) {
		if rule.Alert != "" && rule.Group != "sluice-requests" { // Errors are a part of the traffic.
			expressions, names = append(expressions, rule.Expr), append(names, rule.Alert)
		}
	}
	for i, answer := range w.ask(t, expressions...) {
		if fires := len(answer.Series) > 0; fires != want[names[i]] {
			t.Errorf("%s fires: %v", names[i], answer.Series)
		}
	}
}
