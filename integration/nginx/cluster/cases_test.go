package cluster

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/integration/harness"
	"github.com/sluiceproxy/sluice/integration/nginx/cases"
	"github.com/sluiceproxy/sluice/integration/nginx/population"
)

// repeated are cases of package cases that are sent to a cluster too: some of each group that need nothing but
// Ingresses, and Services with one endpoint.
func repeated() map[string][]string {
	return map[string][]string{
		"auth":   {"a Secret that does not exist", "a location that is denied does not fall back to a shorter path"},
		"canary": {"the canary is younger", "canary-by-header-value", "header, cookie and weight together"},
		"cors":   {"enable-cors", "a wildcard is one label", "OPTIONS without the fields of a preflight"},
		"errors": {"unknown hosts and paths"},
		"headers": {
			"upstream-vhost", "an unknown annotation",
		},
		"hosts": {"server-alias", "unmatched paths of a host do not reach its wildcard"},
		"https": {"ssl-redirect without a certificate"},
		"limit": {"proxy-body-size with a suffix"},
		"paths": {
			"Exact and Prefix of one path", "the longest prefix wins, whatever the order", "an Ingress without a host",
		},
		"phases":    {"app-root stands in front of the size of the body"},
		"redirect":  {"app-root", "permanent-redirect-code", "from-to-www-redirect"},
		"rewrite":   {"captures in rewrite-target", "the whole URI is replaced wherever the pattern is found"},
		"services":  {"backend-protocol HTTP"},
		"surprises": {"rewrite-target implies use-regex", "a regular expression is a prefix, and has no case"},
	}
}

// TestCases sends the requests of cases to Ingresses that come and go in a cluster.
func TestCases(t *testing.T) {
	w := prepare(t)
	g := open(w, static)
	for group, names := range repeated() {
		text, err := os.ReadFile("../cases/" + group + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		all, err := cases.Parse(group, string(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			at := slices.IndexFunc(all, func(c *cases.Case) bool { return c.Name == name })
			if at < 0 {
				t.Errorf("there is no case %s/%s", group, name)
				continue
			}
			t.Run(group+"/"+name, func(t *testing.T) { repeat(w.on(t), g.on(t), all[at]) })
		}
	}
}

// repeat creates the Ingresses of a case, sends its requests, and removes them.
func repeat(w *world, g *gate, c *cases.Case) {
	stage := c.Stages[0]
	if len(c.Stages) != 1 || len(stage.Settings)+len(stage.Flags)+len(stage.Certificates)+len(stage.Servers) > 0 {
		w.t.Fatalf("%v is more than Ingresses", c)
	}
	for _, object := range stage.Objects.Ingresses {
		for _, rule := range object.Spec.Rules {
			if rule.HTTP == nil {
				continue
			}
			for _, path := range rule.HTTP.Paths {
				w.ensure(object.Namespace, path.Backend.Service.Name)
			}
		}
	}
	for _, object := range stage.Objects.Ingresses {
		object.CreationTimestamp = metav1.Time{}
		w.put(object)
	}
	for i := range stage.Exchanges {
		e := &stage.Exchanges[i]
		var complaints []string
		g.until(func() bool { complaints = g.judge(e); return len(complaints) == 0 }, func() string {
			return fmt.Sprintf("%s.txt:%d: %q", c.Group, e.Line, complaints)
		})
	}
	for _, object := range stage.Objects.Ingresses {
		w.DeleteNow("Ingress.networking.k8s.io", object.Namespace+"/"+object.Name)
	}
	for _, e := range stage.Exchanges {
		g.becomes(e.Request.Host+"/", "404")
	}
}

// ensure creates a Service with an endpoint of the name "NAMESPACE/NAME", unless there is one.
func (w *world) ensure(namespace, name string) {
	w.t.Helper()
	there, err := w.Kubernetes.CoreV1().Services(namespace).List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	if slices.ContainsFunc(there.Items, func(s corev1.Service) bool { return s.Name == name }) {
		return
	}
	address := fmt.Sprintf("198.18.210.%d", len(there.Items))
	w.backends.Name(address, namespace+"/"+name)
	service, slice := population.WithEndpoints(namespace, name, address)
	if _, err := w.Kubernetes.CoreV1().Services(namespace).Create(w.t.Context(), service,
		metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.Kubernetes.DiscoveryV1().EndpointSlices(namespace).Create(w.t.Context(), slice,
		metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// judge sends a request, and returns what is not as expected of the answer and of what the endpoint received.
func (g *gate) judge(e *cases.Exchange) (complaints []string) {
	g.t.Helper()
	answer, err := g.send(&e.Request)
	if err != nil {
		return []string{err.Error()}
	}
	status := strconv.Itoa(answer.StatusCode)
	if e.Response.Statuses[status] == 0 && e.Response.Statuses[status[:1]+"xx"] == 0 {
		complaints = append(complaints, fmt.Sprintf("the status is %s, want %v", status, e.Response.Statuses))
	}
	for _, match := range e.Response.Header {
		if got := answer.Header.Values(match.Name); !match.Matches(got) {
			complaints = append(complaints, fmt.Sprintf("the response has %s: %q", match.Name, got))
		}
	}
	backend := answer.Header.Get(population.FieldBackend)
	for _, upstream := range e.Upstreams {
		complaints = append(complaints, judgeUpstream(&upstream, backend, answer.Text)...)
	}
	return complaints
}

// judgeUpstream compares what an endpoint received. Text is that, where the endpoint has answered.
func judgeUpstream(want *cases.Upstream, backend, text string) (complaints []string) {
	if _, named := want.Counts[backend]; named == (backend == "") && len(want.Counts) > 0 || backend != "" && !named {
		return []string{fmt.Sprintf("the endpoint is %q, want %v", backend, want.Counts)}
	}
	if backend == "" {
		return nil
	}
	var got population.Received
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		return []string{fmt.Sprintf("%v in %.100q", err, text)}
	}
	if line := got.Method + " " + got.Target; want.Request != "" && line != want.Request {
		complaints = append(complaints, fmt.Sprintf("it receives %q, want %q", line, want.Request))
	}
	got.Header.Set("Host", got.Host)
	for _, match := range want.Header {
		if values := got.Header.Values(match.Name); !match.Matches(values) {
			complaints = append(complaints, fmt.Sprintf("it receives %s: %q", match.Name, values))
		}
	}
	return complaints
}

// send sends a request as it is written.
func (g *gate) send(r *cases.Request) (harness.Response, error) {
	g.t.Helper()
	conn := harness.Dial(g.t, g.Addr("web"))
	defer conn.Close() //nolint:errcheck // It has been read.
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s HTTP/1.1\r\nHost: %s\r\n%s: yes\r\n", r.Method, r.Target, r.Host, population.FieldEcho)
	for _, field := range r.Header {
		fmt.Fprintf(&text, "%s: %s\r\n", field.Name, field.Value)
	}
	if length := r.Length + len(r.Body); length > 0 {
		fmt.Fprintf(&text, "Content-Length: %d\r\n", length)
	}
	text.WriteString("\r\n" + r.Body + strings.Repeat("0", r.Length))
	go func() { _, _ = conn.Write([]byte(text.String())) }() // An answer may come first, and end the connection.
	return conn.Response()
}
