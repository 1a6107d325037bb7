package operations

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// quiet are the metrics of our rules and board that a Sluice has only after trouble that the traffic of these tests does not make.
func quiet() []string {
	return []string{
		"sluice_service_ejections_total", "sluice_service_panics_total", "sluice_service_retries_exhausted_total",
		"sluice_service_saturated_total",
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
			read.Panels = append(read.Panels, panel{Type: "variable", Title: variable.Name, Targets: []struct{ Expr string }{{series}}})
		}
	}
	read.Panels = append(read.Panels, panel{Type: "annotation", Title: "configurations", Targets: read.Annotations.List})
	return read.Panels, variables
}

// chosen fills in the variables as Grafana does when everything is chosen.
func chosen(expression string) string {
	return strings.NewReplacer("$__rate_interval", "2m", "$interval", "2m", "$job", ".*", "$entrypoint", ".*", "$service", ".*").Replace(expression)
}

// TestTheBoardShowsAValueInEveryPanel answers each expression of the board from a Sluice with traffic.
func TestTheBoardShowsAValueInEveryPanel(t *testing.T) {
	w := newWorld(t)
	panels, _ := board(t)
	count := 0
	for _, panel := range panels {
		if panel.Type != "row" && (panel.Title == "" || len(panel.Targets) == 0) || strings.Contains("stat timeseries table", panel.Type) && panel.Description == "" {
			t.Errorf("panel %q says too little", panel.Title)
		}
		for _, target := range panel.Targets {
			count++
			answer := ask(t, w.scrapes, chosen(target.Expr))[0]
			if strings.Contains(chosen(target.Expr), "$") {
				t.Errorf("%s: unknown variable in %s", panel.Title, target.Expr)
			}
			if len(answer.Series) == 0 && !answer.asksOnly(quiet()) {
				t.Errorf("%s shows nothing: %s", panel.Title, target.Expr)
			}
			for _, series := range answer.Series {
				if series.Value == "NaN" {
					t.Errorf("%s shows what is no number for %v: %s", panel.Title, series.Labels, target.Expr)
				}
			}
		}
	}
	if count < 30 {
		t.Errorf("the board has %d expressions", count)
	}
}

// asksOnly reports whether all series that are asked for are among the names.
func (r result) asksOnly(names []string) bool {
	return !slices.ContainsFunc(r.Selectors, func(s selector) bool { return !slices.Contains(names, s.Metric) })
}

// TestRulesAskForWhatThereIs holds the series of all rules against a scrape: their names and their labels.
func TestRulesAskForWhatThereIs(t *testing.T) {
	w := newWorld(t)
	page, err := os.ReadFile(filepath.Join(root, "docs/reference/metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	added := []string{"job", "instance", "le"}
	for _, rule := range rules(t) {
		answer := ask(t, w.scrapes, rule.Expr)[0]
		for _, asked := range answer.Selectors {
			if slices.Contains(quiet(), asked.Metric) {
				if !strings.Contains(string(page), "`"+asked.Metric+"`") {
					t.Errorf("%s%s: nobody knows %s", rule.Alert, rule.Record, asked.Metric)
				}
				continue
			}
			by := slices.DeleteFunc(slices.Clone(asked.Labels), func(label string) bool { return slices.Contains(added, label) })
			labels := strings.Join(by, `!="", `)
			if len(by) > 0 {
				labels += `!=""`
			}
			if found := ask(t, w.scrapes, asked.Metric+"{"+labels+"}")[0]; len(found.Series) == 0 {
				t.Errorf("%s%s asks for %s{%s}, and there is no such series", rule.Alert, rule.Record, asked.Metric, labels)
			}
		}
	}
}

// TestAlertsOfAHealthySluice says which alerts a Sluice has that serves, but for the service that is gone and the router that is refused.
func TestAlertsOfASluiceWithTraffic(t *testing.T) {
	w := newWorld(t)
	want := map[string]bool{
		"SluiceServiceWithoutServers": true, "SluiceConfigurationRefused": true, "SluiceCertificateExpiresSoon": true, "SluiceCertificateExpiresNow": true,
	}
	for _, rule := range rules(t) {
		if rule.Alert == "" || rule.Group == "sluice-requests" {
			continue // Errors are a part of the traffic.
		}
		if fires := len(ask(t, w.scrapes, rule.Expr)[0].Series) > 0; fires != want[rule.Alert] {
			t.Errorf("%s fires: %v", rule.Alert, fires)
		}
	}
}
