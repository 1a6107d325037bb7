package operations

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// scrape is a page of metrics as Prometheus takes it at a time, with labels of its own.
type scrape struct {
	Seconds float64           `json:"seconds"`
	Text    string            `json:"text"`
	Labels  map[string]string `json:"labels"`
}

// result is Prometheus' result of an expression at the time of the last scrape.
type result struct {
	Expr      string     `json:"expr"`
	Problem   string     `json:"problem"`
	Selectors []selector `json:"selectors"`
	Series    []struct {
		Labels map[string]string `json:"labels"`
		Value  string            `json:"value"`
	} `json:"series"`
}

// selector is a selector of an expression, with its labels.
type selector struct {
	Metric string   `json:"metric"`
	Labels []string `json:"labels"`
}

// rule is a rule as Prometheus has read it.
type rule struct {
	Group, Record, Alert, Expr, For string
	Labels, Annotations             map[string]string
}

// prometheus is the program with Prometheus' engine.
type prometheus struct{ program string }

// ask evaluates expressions about scrapes.
func (p prometheus) ask(t *testing.T, scrapes []scrape, expressions ...string) []result {
	t.Helper()
	question, err := json.Marshal(map[string]any{"scrapes": scrapes, "expressions": expressions})
	if err != nil {
		t.Fatal(err)
	}
	var results []result
	p.run(t, question, &results)
	if len(results) != len(expressions) {
		t.Fatalf("%d answers to %d expressions", len(results), len(expressions))
	}
	for _, result := range results {
		if result.Problem != "" {
			t.Errorf("%s\n%s", result.Problem, result.Expr)
		}
	}
	return results
}

// rules has Prometheus read the file of rules.
func (p prometheus) rules(t *testing.T) []rule {
	t.Helper()
	var all []rule
	p.run(t, nil, &all, filepath.Join(root, "deploy/prometheus/rules.yaml"))
	return all
}

// run runs promcheck and reads its answer.
func (p prometheus) run(t *testing.T, input []byte, answer any, args ...string) {
	t.Helper()
	var output, complaint bytes.Buffer
	command := exec.CommandContext(t.Context(), p.program, args...)
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(input), &output, &complaint
	if err := command.Run(); err != nil {
		t.Fatalf("%v: %s", err, &complaint)
	}
	if err := json.Unmarshal(output.Bytes(), answer); err != nil {
		t.Fatal(err)
	}
}

// newPrometheus has .ci/tools build the program, unless it is there. Where it does not build, the test is skipped.
func newPrometheus(t *testing.T) prometheus {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join(root, ".ci", "tools"), "rules")
	output, err := command.Output()
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	path := lines[len(lines)-1]
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Skipf("missing tool: what reads Prometheus' rules: %s", output)
	}
	return prometheus{path}
}
