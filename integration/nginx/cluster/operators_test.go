package cluster

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// judged are annotations with what an operator must read about them: a part of the message on the Ingress, which names
// the annotation. An empty text means that nothing is reported.
func judged() map[string]struct {
	annotations notes
	status      string
	words       []string
} {
	return map[string]struct {
		annotations notes
		status      string
		words       []string
	}{
		"fine":        {notes{"proxy-body-size": "2m", "enable-cors": "true"}, "200 main", nil},
		"modsecurity": {notes{"enable-modsecurity": "true"}, "503", []string{"enable-modsecurity: "}},
		"snippet": {
			notes{"configuration-snippet": "more_set_headers \"X-A: b\";"},
			"200 main",
			[]string{prefix + "configuration-snippet"},
		},
		"deny":    {notes{"server-snippet": "deny all;"}, "503", []string{prefix + "server-snippet", "deny"}},
		"secret":  {notes{"auth-type": "basic", "auth-secret": "none"}, "503", []string{home + "/none"}},
		"range":   {notes{"whitelist-source-range": "10.0.0.0/33"}, "503", []string{prefix + "whitelist-source-range"}},
		"typo":    {notes{"rewrite-targte": "/"}, "200 main", []string{prefix + "rewrite-targte"}},
		"retired": {notes{"secure-backends": "true"}, "200 main", nil}, // It has no effect in ingress-nginx either.
		"fastcgi": {notes{"backend-protocol": "FCGI"}, "503", []string{prefix + "backend-protocol"}},
	}
}

// TestOperatorsReadVerdicts reads what became of annotations: as Events on the Ingress, in /ready and in the API.
func TestOperatorsReadVerdicts(t *testing.T) {
	w := prepare(t, "main")
	for name, test := range judged() {
		w.put(ingress(name, name+".test", "main", test.annotations))
	}
	g := open(w, static)
	for name, test := range judged() {
		g.becomes(name+".test/", test.status)
	}
	for name, test := range judged() {
		if test.words == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			g, w := g.on(t), w.on(t)
			about := append([]string{home + "/" + name}, test.words...)
			finding := g.reports(about...)
			if refused := test.status == "503"; refused != (finding.Status == "quarantined") {
				t.Errorf("the status of the verdict is %s", finding.Status)
			}
			if got := g.api("/api/verdicts?search=" + home + "/" + name); !containsAll(got, test.words) {
				t.Errorf("the API says %.2000s", got)
			}
			w.UntilAll("Event", home, "an Event about "+name, func(events []*unstructured.Unstructured) bool {
				return containsAll(strings.Join(warnings(events, name), "\n"), test.words)
			})
		})
	}
	for name, test := range judged() {
		if test.words != nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if got := g.on(t).api("/api/verdicts?kind=source&search=" + home + "/" + name); got != "[]" {
				t.Errorf("the API says %.2000s", got)
			}
			events := w.on(t).UntilAll("Event", home, "Events", func([]*unstructured.Unstructured) bool { return true })
			if got := warnings(events, name); len(got) > 0 {
				t.Errorf("there are Events %q", got)
			}
		})
	}
	t.Run("and it ends with the mistake", func(t *testing.T) {
		g, w := g.on(t), w.on(t)
		w.put(ingress("range", "range.test", "main", notes{"whitelist-source-range": "127.0.0.0/8"}))
		g.becomes("range.test/", "200 main")
		g.until(func() bool { return g.api("/api/verdicts?search="+home+"/range") == "[]" },
			func() string { return "the API still has a verdict" })
	})
}

// api returns the answer of the API.
func (g *gate) api(path string) string {
	g.t.Helper()
	client := g.Management()
	defer client.Transport.CloseIdleConnections()
	answer := client.Get(path)
	if answer.StatusCode != http.StatusOK {
		g.t.Fatalf("%s: %d %.300s", path, answer.StatusCode, answer.Text)
	}
	var decoded any
	if err := json.Unmarshal([]byte(answer.Text), &decoded); err != nil {
		g.t.Fatalf("%s: %v", path, err)
	}
	text, err := json.Marshal(decoded)
	if err != nil {
		g.t.Fatal(err)
	}
	return string(text)
}

// warnings returns the messages of Events on an Ingress.
func warnings(events []*unstructured.Unstructured, name string) []string {
	var all []string
	for _, event := range events {
		about, _, _ := unstructured.NestedStringMap(event.Object, "involvedObject")
		if about["kind"] == "Ingress" && about["name"] == name && event.Object["type"] == "Warning" {
			all = append(all, fmt.Sprint(event.Object["reason"], ": ", event.Object["message"]))
		}
	}
	return all
}
