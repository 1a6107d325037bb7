package migrate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/sluiceproxy/sluice/migrate"
	"github.com/sluiceproxy/sluice/migrate/answer"
	"github.com/sluiceproxy/sluice/migrate/nginxmodel"
	"github.com/sluiceproxy/sluice/migrate/probe"
	"github.com/sluiceproxy/sluice/migrate/report"
	"github.com/sluiceproxy/sluice/migrate/source"
)

var update = flag.Bool("update", false, "write the expected reports")

func model(t *testing.T) *nginxmodel.Model {
	t.Helper()
	objects, err := source.Read(nil, filepath.Join("testdata", "shop.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return nginxmodel.Build(objects, nginxmodel.Config{
		Settings: objects.ConfigMap("ingress-nginx", "ingress-nginx-controller").Data, Namespace: "ingress-nginx",
	})
}

// other answers as the model does, except for some requests.
type other struct{ model *nginxmodel.Model }

// Answer implements answer.Answerer.
func (o other) Answer(ctx context.Context, p probe.Probe) (answer.Answer, error) {
	got, err := o.model.Answer(ctx, p)
	switch {
	case strings.Contains(p.Target, "%00"):
		return answer.Answer{}, errors.New("the connection was closed")
	case got.Upstream != nil && strings.Contains(p.Target, "//"):
		sent := *got.Upstream
		for strings.Contains(sent.Target, "//") {
			sent.Target = strings.ReplaceAll(sent.Target, "//", "/")
		}
		got.Upstream = &sent
	case got.Step == answer.Preflight:
		got.Status = 200
	}
	return got, err
}

func reported(t *testing.T) *report.Report {
	t.Helper()
	m := model(t)
	got, err := migrate.Report(t.Context(), migrate.Options{
		Model: m, Subject: other{m}, Parallel: 3, Context: report.Context{
			Notes:  []string{"Read: testdata/shop.yaml"},
			Faults: []string{"shop.yaml:9: a fault with <b>markup</b> and \x1b[31m"},
		},
		Skip: func(p probe.Probe) bool { return p.Reason == probe.HostCase },
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestReports(t *testing.T) {
	got := reported(t)
	for name, write := range map[string]func(*bytes.Buffer) error{
		"report.txt":  func(out *bytes.Buffer) error { return got.Text(out, 0) },
		"report.md":   func(out *bytes.Buffer) error { return got.Markdown(out) },
		"report.json": func(out *bytes.Buffer) error { return got.JSON(out) },
		"report.html": func(out *bytes.Buffer) error { return got.HTML(out) },
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := write(&out); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", name)
			if *update {
				if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(want, out.Bytes()) {
				t.Errorf("%s differs; look at it after go test ./migrate -update", file)
			}
		})
	}
	if got.Exit() != report.ExitDifferent {
		t.Errorf("the exit status is %d", got.Exit())
	}
}

func TestText(t *testing.T) {
	got := reported(t)
	for _, width := range []int{0, 60, 120} {
		var out bytes.Buffer
		if err := got.Text(&out, width); err != nil {
			t.Fatal(err)
		}
		if width == 0 {
			width = report.DefaultWidth
		}
		for line := range strings.Lines(out.String()) {
			words := len(strings.Fields(line))
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width && words > 1 {
				t.Errorf("%d columns: %q", n, line)
			}
			if strings.ContainsRune(line, '\x1b') {
				t.Errorf("a control character: %q", line)
			}
		}
	}
}

// TestHTML checks that the page loads nothing, runs nothing, and is accessible by its structure.
func TestHTML(t *testing.T) {
	var out bytes.Buffer
	if err := reported(t).HTML(&out); err != nil {
		t.Fatal(err)
	}
	root, err := html.Parse(&out)
	if err != nil {
		t.Fatal(err)
	}
	var targets, links []string
	level := 0
	for node := range root.Descendants() {
		if node.Type != html.ElementNode {
			continue
		}
		if slices.Contains([]string{"script", "link", "img", "iframe", "b", "object"}, node.Data) {
			t.Errorf("there is an element %s", node.Data)
		}
		attributes := map[string]string{}
		for _, one := range node.Attr {
			attributes[one.Key] = one.Val
			if strings.HasPrefix(one.Key, "on") || one.Key == "src" {
				t.Errorf("%s has %s", node.Data, one.Key)
			}
		}
		switch node.Data {
		case "h1", "h2", "h3":
			if next := int(node.Data[1] - '0'); next > level+1 {
				t.Errorf("%s follows a heading of level %d", node.Data, level)
			} else {
				level = next
			}
		case "html":
			if attributes["lang"] == "" {
				t.Error("the page has no language")
			}
		case "th":
			if attributes["scope"] == "" {
				t.Error("a heading of a table has no scope")
			}
		case "a":
			links = append(links, attributes["href"])
		}
		if id := attributes["id"]; id != "" {
			targets = append(targets, "#"+id)
		}
	}
	if !slices.Equal(links, targets) {
		t.Errorf("the links are %q, the sections %q", links, targets)
	}
}

func TestJSON(t *testing.T) {
	got := reported(t)
	var out bytes.Buffer
	if err := got.JSON(&out); err != nil {
		t.Fatal(err)
	}
	var again report.Report
	if err := json.Unmarshal(out.Bytes(), &again); err != nil {
		t.Fatal(err)
	}
	if again.Summary.Probes != got.Summary.Probes || again.Summary.Differing == 0 || len(again.Ingresses) != 5 {
		t.Errorf("the summary is %+v", again.Summary)
	}
}

func TestNoDifference(t *testing.T) {
	objects, err := source.Read(strings.NewReader(`apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: one}
spec:
  ingressClassName: nginx
  rules:
  - host: a.example
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: a, port: {number: 80}}}}]}
`), source.Stream)
	if err != nil {
		t.Fatal(err)
	}
	m := nginxmodel.Build(objects, nginxmodel.Config{})
	got, err := migrate.Report(t.Context(), migrate.Options{Model: m, Subject: m})
	if err != nil {
		t.Fatal(err)
	}
	if got.Exit() != report.ExitSame || got.Summary.Differing > 0 || got.Summary.Probes < 30 {
		t.Errorf("%d: %+v", got.Exit(), got.Summary)
	}
	bare, err := migrate.Report(t.Context(), migrate.Options{Model: m})
	if err != nil || bare.Summary.Probes != 0 || bare.Summary.Ingresses != 1 {
		t.Errorf("without a subject: %+v %v", bare, err)
	}
}

func TestLongListsAreCut(t *testing.T) {
	var text strings.Builder
	for i := range 30 {
		_, _ = fmt.Fprintf(&text, `---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: one-%[1]d, annotations: {nginx.ingress.kubernetes.io/affinity: cookie}}
spec:
  ingressClassName: nginx
  rules:
  - host: a%[1]d.example
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: shared, port: {number: 80}}}}]}
`, i)
	}
	objects, err := source.Read(strings.NewReader(text.String()), source.Stream)
	if err != nil {
		t.Fatal(err)
	}
	got, err := migrate.Report(t.Context(), migrate.Options{Model: nginxmodel.Build(objects, nginxmodel.Config{})})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := got.Text(&out, 0); err != nil {
		t.Fatal(err)
	}
	if len(got.Interactions) != 1 || !strings.Contains(strings.Join(strings.Fields(out.String()), " "), " and 9 more") {
		t.Errorf("%d interactions in %s", len(got.Interactions), out.String())
	}
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m := model(t)
	if _, err := migrate.Report(ctx, migrate.Options{Model: m, Subject: m}); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

func BenchmarkReport(b *testing.B) {
	var text strings.Builder
	for i := range 2000 {
		_, _ = fmt.Fprintf(&text, `---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: one-%[1]d, annotations: {nginx.ingress.kubernetes.io/enable-cors: "true"}}
spec:
  ingressClassName: nginx
  rules:
  - host: a%[1]d.example
    http: {paths: [{path: /a, pathType: Prefix, backend: {service: {name: a, port: {number: 80}}}}]}
`, i)
	}
	for b.Loop() {
		objects, err := source.Read(strings.NewReader(text.String()), source.Stream)
		if err != nil {
			b.Fatal(err)
		}
		m := nginxmodel.Build(objects, nginxmodel.Config{})
		if _, err := migrate.Report(b.Context(), migrate.Options{Model: m, Subject: m, Parallel: 2}); err != nil {
			b.Fatal(err)
		}
	}
}
