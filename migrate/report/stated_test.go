package report_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/migrate/answer"
	"github.com/sluiceproxy/sluice/migrate/nginxmodel"
	"github.com/sluiceproxy/sluice/migrate/probe"
	"github.com/sluiceproxy/sluice/migrate/report"
	"github.com/sluiceproxy/sluice/migrate/source"
)

// TestDesignsAreDocumented demands a row for each difference by design.
func TestDesignsAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "migrate", "ingress-nginx.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "### Differences by design\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, one := range report.Designs() {
		if !strings.Contains(section, "\n| "+one+" | ") {
			t.Errorf("there is no row %q", one)
		}
	}
	if rows := strings.Count(section, "\n| ") - 1; rows != len(report.Designs()) {
		t.Errorf("%d rows for %d differences", rows, len(report.Designs()))
	}
}

// TestDesignsHideNothing checks which differences leave the exit status 0.
func TestDesignsHideNothing(t *testing.T) {
	t.Parallel()
	sent := func(service, target string) answer.Answer {
		return answer.Answer{
			Status: 200, Header: http.Header{}, Step: answer.Forward,
			Upstream: &answer.Upstream{Service: service, Target: target, Method: http.MethodGet},
		}
	}
	ended := func(status int, step answer.Step) answer.Answer {
		return answer.Answer{Status: status, Header: http.Header{}, Step: step}
	}
	for _, row := range []struct {
		name      string
		reason    probe.Reason
		want, got answer.Answer
		why       string
		resolved  bool
		stated    bool
	}{
		{"malformed", probe.Malformed, ended(400, answer.Parse), ended(404, ""), "", false, true},
		{"malformed, and served", probe.Malformed, ended(400, answer.Parse), sent("a", "/"), "", false, false},
		{"malformed, and redirected", probe.Malformed, ended(400, answer.Parse), ended(308, ""), "", false, false},
		{"above the root, as resolved", probe.DotSegment, ended(400, answer.Parse), sent("a", "/b"), "", true, true},
		{"above the root, elsewhere", probe.DotSegment, ended(400, answer.Parse), sent("a", "/b"), "", false, false},
		{"a parameter", probe.MatrixSuffix, sent("a", "/;a=b"), ended(400, ""), "", false, true},
		{"a parameter, not found", probe.MatrixSuffix, sent("a", "/;a=b"), ended(404, ""), "", false, false},
		{"slashes", probe.DoubleSlash, sent("a", "//b"), sent("a", "/b"), "", false, true},
		{"slashes, elsewhere", probe.DoubleSlash, sent("a", "//b"), sent("c", "/b"), "", false, false},
		{"slashes, refused", probe.DoubleSlash, sent("a", "//b"), ended(404, ""), "", false, false},
		{"a final dot", probe.FinalDot, sent("a", "/b/"), sent("a", "/b"), "", false, true},
		{"a final dot, not found", probe.FinalDot, sent("a", "/b/"), ended(404, ""), "", false, true},
		{"a final dot, elsewhere", probe.FinalDot, sent("a", "/b/"), sent("c", "/b"), "", false, false},
		{"a final dot, past a password", probe.FinalDot, ended(401, answer.Password), sent("a", "/b"), "", false, false},
		{"closed", probe.FinalDot, sent("a", "/b/"), ended(503, answer.Denied), "a reason", false, false},
		{"closed where nginx refuses", probe.Declared, ended(401, answer.Password), ended(503, answer.Denied), "x", false, false},
	} {
		fields := answer.Compare(row.want, row.got)
		if len(fields) == 0 {
			t.Fatalf("%s: nothing differs", row.name)
		}
		probed := report.Probed{Host: "a.example", Probes: 1}
		probed.Add(&report.Difference{
			Probe: probe.Probe{Reason: row.reason}, Fields: fields, Want: row.want, Got: row.got, Why: row.why,
			Resolved: row.resolved,
		})
		model := nginxmodel.Build(&source.Objects{}, nginxmodel.Config{})
		got := report.New(model, []report.Probed{probed}, report.Context{})
		want := report.ExitDifferent
		if row.stated {
			want = report.ExitSame
		}
		if got.Exit() != want || (got.Summary.Stated == 1) != row.stated {
			t.Errorf("%s: exit status %d, %+v", row.name, got.Exit(), got.Causes)
		}
	}
}
