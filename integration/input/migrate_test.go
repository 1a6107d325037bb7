package input

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// migrated runs the command in the folder of its test data.
func migrated(t *testing.T, args ...string) harness.Result {
	t.Helper()
	args = append([]string{"migrate", "ingress-nginx"}, args...)
	return harness.Run(t, filepath.Join("testdata", "migrate"), nil, args...)
}

func TestMigrateReports(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "html", "markdown", "json"} {
		result := migrated(t, "-f", "shop.yaml", "--output", format)
		if result.Code != 1 || result.Stderr != "" {
			t.Errorf("%s: exit code %d, %s", format, result.Code, result.Stderr)
		}
		golden(t, "migrate/shop."+format+".golden", result.Stdout)
		file := filepath.Join(t.TempDir(), "report")
		written := migrated(t, "-f", "shop.yaml", "--format="+format, "-o", file)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(text) != result.Stdout || written.Stdout+written.Stderr != "" || written.Code != 1 {
			t.Errorf("%s: the file is another report, or exit code %d, %s%s", format, written.Code, written.Stdout,
				written.Stderr)
		}
	}
	for line := range strings.Lines(migrated(t, "-f", "shop.yaml").Stdout) {
		if utf8.RuneCountInString(line) > 81 && len(strings.Fields(line)) > 1 || strings.Contains(line, "\x1b") {
			t.Errorf("more than 80 columns, or a colour: %q", line)
		}
	}
}

func TestMigrateChoosesTheFormatOfAFile(t *testing.T) {
	t.Parallel()
	for name, begins := range map[string]string{
		"a.html": "<!doctype html>", "a.md": "# From", "a.json": "{", "a.txt": "From ingress-nginx",
	} {
		file := filepath.Join(t.TempDir(), name)
		if result := migrated(t, "-f", "same.yaml", "-o", file); result.Code != 0 || result.Stdout+result.Stderr != "" {
			t.Fatalf("%s: exit code %d, %s%s", name, result.Code, result.Stdout, result.Stderr)
		}
		text, err := os.ReadFile(file)
		if err != nil || !strings.HasPrefix(string(text), begins) {
			t.Errorf("%s begins with %.40q: %v", name, text, err)
		}
	}
}

func TestMigrateWithoutDifferences(t *testing.T) {
	t.Parallel()
	result := migrated(t, "same.yaml", "--output", "json")
	var got struct {
		Summary struct{ Probes, Differing, Stated, Failed int }
	}
	if err := json.Unmarshal([]byte(result.Stdout), &got); err != nil {
		t.Fatal(err)
	}
	if s := got.Summary; result.Code != 0 || s.Probes < 30 || s.Differing != s.Stated || s.Failed > 0 {
		t.Errorf("exit code %d: %+v", result.Code, got.Summary)
	}
}

// TestMigrateSelectsNamespaces has the Ingresses of one of two namespaces count, by its labels.
func TestMigrateSelectsNamespaces(t *testing.T) {
	t.Parallel()
	var manifests strings.Builder
	for _, name := range []string{"one", "two"} {
		fmt.Fprintf(&manifests, `---
apiVersion: v1
kind: Namespace
metadata: {name: %[1]s, labels: {tenant: %[1]s}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: shop, namespace: %[1]s, annotations: {kubernetes.io/ingress.class: nginx}}
spec:
  rules:
    - host: %[1]s.example.com
      http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: shop, port: {number: 80}}}}]}
`, name)
	}
	file := filepath.Join(t.TempDir(), "all.yaml")
	if err := os.WriteFile(file, []byte(manifests.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	result := migrated(t, "-f", file, "--watch-namespace-selector", "tenant in (two)")
	if result.Code == 2 || !strings.Contains(result.Stdout, "two.example.com") ||
		strings.Contains(result.Stdout, "one.example.com") {
		t.Errorf("exit code %d, %s%s", result.Code, result.Stdout, result.Stderr)
	}
}

func TestMigrateReadsStandardInput(t *testing.T) {
	t.Parallel()
	input, err := os.Open(filepath.Join("testdata", "migrate", "same.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = input.Close() }()
	command := exec.CommandContext(t.Context(), harness.Binary(t), "migrate", "ingress-nginx", "-f", "-")
	command.Stdin = input
	output, err := command.Output()
	if err != nil || !strings.Contains(string(output), "Read: standard input") {
		t.Errorf("%v: %s", err, output)
	}
}

// What cannot be read is named with file and line, and everything else is compared.
func TestMigrateNamesWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	result := migrated(t, "-f", "broken.yaml", "--output", "json")
	var got struct {
		Faults    []string
		Ingresses []struct{ Name string }
	}
	if err := json.Unmarshal([]byte(result.Stdout), &got); err != nil {
		t.Fatal(err)
	}
	faults := strings.Join(got.Faults, "\n")
	if result.Code != 1 || len(got.Ingresses) != 2 || len(got.Faults) != 2 ||
		!strings.Contains(faults, "broken.yaml:14: Ingress web/bad: ") || !strings.Contains(faults, "broken.yaml:23: ") {
		t.Errorf("exit code %d, %+v", result.Code, got)
	}
}

func TestMigrateArguments(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	for _, test := range []struct {
		args   []string
		stderr string
	}{
		{[]string{"-f", "no.yaml"}, "no.yaml: no such file or directory"},
		{[]string{"-f", empty}, "there is no Ingress in " + empty},
		{[]string{"-f", "shop.yaml", "--ingress-class", "other"}, "is of the class other"},
		{[]string{"-f", "shop.yaml", "--output", "html", "--format", "json"}, "the format is json and html"},
		{[]string{"-f", "shop.yaml", "--format", "pdf"}, "--format pdf: one of html, json, markdown, text"},
		{[]string{"-f", "shop.yaml", "-o", "a", "-o", "b"}, "--output names two files"},
		{[]string{"-f", "shop.yaml", "--watch-namespace-selector", "a=b"}, "there are no Namespaces among the objects"},
		{[]string{"-f", "shop.yaml", "--watch-namespace-selector", "=b"}, "--watch-namespace-selector =b: "},
		{[]string{"-f", "shop.yaml", "--watch-namespace", "a", "--watch-namespace-selector", "a"}, "exclude each other"},
		{[]string{"-f", "shop.yaml", "--configmap", "name"}, "--configmap name: it is NAMESPACE/NAME"},
		{[]string{"-f", "shop.yaml", "--configmap", "a/b"}, "the ConfigMap a/b is not among the objects"},
		{[]string{"-f", "shop.yaml", "--host", "no.example.com"}, "--host no.example.com: no Ingress"},
		{[]string{"-f", "shop.yaml", "--probes", "-1"}, "--probes -1"},
		{[]string{"-f", "shop.yaml", "--rate", "0"}, "--rate 0"},
		{[]string{"-f", "shop.yaml", "--live-old", "ftp://a"}, "--live-old ftp://a: it is HOST"},
		{[]string{"-f", "shop.yaml", "--live-old", "a", "--live-old", "http://b"}, "given twice"},
		{[]string{"-f", "shop.yaml", "--kubeconfig", "x"}, "exclude each other"},
		{[]string{"-f", "shop.yaml", "--ingres-class", "x"}, "did you mean --ingress-class?"},
		{[]string{"--kubeconfig", "no.kubeconfig"}, "no.kubeconfig: no such file"},
		{[]string{"-f", "shop.yaml", "--http-port", "0"}, "--http-port 0: it is at least 1"},
		{[]string{"-f", "shop.yaml", "--https-port", "65536"}, "--https-port"},
		{[]string{"-f", "shop.yaml", "--https-port", "80"}, "--http-port and --https-port are both 80"},
		{nil, "no cluster"},
	} {
		result := migrated(t, test.args...)
		if result.Code != 2 || result.Stdout != "" || !strings.Contains(result.Stderr, test.stderr) {
			t.Errorf("%q: exit code %d, %s%s", test.args, result.Code, result.Stdout, result.Stderr)
		}
	}
	if result := harness.Run(t, empty, nil, "migrate", "nginx"); result.Code != 2 ||
		result.Stderr != "sluice migrate: unknown command \"nginx\"; one of ingress-nginx\n" {
		t.Errorf("exit code %d, %s", result.Code, result.Stderr)
	}
}

// TestMigrateFlagsOfTheController has redirects to the port of the controller, connections with TLS that it passes on,
// and a closed Ingress, which --write notes once.
func TestMigrateFlagsOfTheController(t *testing.T) {
	t.Parallel()
	var manifests strings.Builder
	for name, annotations := range map[string]string{
		"ports":  `use-port-in-redirects: "true", nginx.ingress.kubernetes.io/force-ssl-redirect: "true"`,
		"passed": `ssl-passthrough: "true"`, "closed": "auth-url: nonsense",
	} {
		fmt.Fprintf(&manifests, `---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: %[1]s, namespace: web, annotations: {nginx.ingress.kubernetes.io/%[2]s}}
spec:
  ingressClassName: nginx
  rules:
    - host: %[1]s.example.com
      http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: shop, port: {number: 80}}}}]}
`, name, annotations)
	}
	file := filepath.Join(t.TempDir(), "all.yaml")
	if err := os.WriteFile(file, []byte(manifests.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	const needs, port = "it needs enableSSLPassthrough", "https://ports.example.com:8443"
	for _, test := range []struct {
		flags        []string
		needs, ports bool
	}{
		{nil, true, false},
		{[]string{"--enable-ssl-passthrough", "--http-port", "8080", "--https-port=8443"}, false, true},
	} {
		result := migrated(t, append([]string{"-f", file, "--output", "json"}, test.flags...)...)
		if result.Code == 2 || strings.Contains(result.Stdout, needs) != test.needs ||
			strings.Contains(result.Stdout, port) != test.ports {
			t.Errorf("%q: exit code %d, %.2000s%s", test.flags, result.Code, result.Stdout, result.Stderr)
		}
	}
	result := migrated(t, "-f", file, "--enable-ssl-passthrough", "--host", "passed.example.com", "--output", "json")
	var got struct {
		Summary struct{ Probes, Differing, Stated, Failed int }
	}
	if err := json.Unmarshal([]byte(result.Stdout), &got); err != nil {
		t.Fatal(err)
	}
	if s := got.Summary; s.Probes < 20 || s.Differing != s.Stated || s.Failed > 0 {
		t.Errorf("passed on: %+v", s)
	}
	result = migrated(t, "-f", file, "--write", "ingressroute")
	if n := strings.Count(result.Stderr, "answers 503"); n != 1 {
		t.Errorf("%d lines about one Ingress: %s", n, result.Stderr)
	}
}

// Only requests that change nothing reach a controller in operation.
func TestMigrateLive(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	methods := map[string]int{}
	old := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		mu.Lock()
		methods[request.Method]++
		if host, _, _ := strings.Cut(request.Host, ":"); request.ContentLength > 0 ||
			!strings.EqualFold(host, "shop.example.com") {
			methods["bad "+request.Host]++
		}
		mu.Unlock()
		w.WriteHeader(http.StatusTeapot)
	}))
	defer old.Close()
	address := old.Listener.Addr().(*net.TCPAddr).String()
	result := migrated(t, "-f", "same.yaml", "--live-old", "http://"+address, "--rate", "1000", "--host",
		"shop.example.com")
	if result.Code != 1 || !strings.Contains(result.Stdout, "418 in ingress-nginx, ") ||
		!strings.Contains(result.Stdout, "not sent") || !strings.Contains(result.Stderr, " at 1000 a second: about ") {
		t.Errorf("exit code %d, %s%s", result.Code, result.Stdout, result.Stderr)
	}
	mu.Lock()
	defer mu.Unlock()
	for method, count := range methods {
		if method != http.MethodGet && method != http.MethodHead && method != http.MethodOptions {
			t.Errorf("%d of %s were sent", count, method)
		}
	}
	if methods[http.MethodGet] == 0 {
		t.Error("nothing was sent")
	}
}

// manyIngresses returns manifests of Ingresses with mixed annotations; four have one host.
func manyIngresses(count int) string {
	kinds := []string{
		``,
		`nginx.ingress.kubernetes.io/ssl-redirect: "false"`,
		`nginx.ingress.kubernetes.io/proxy-body-size: 8m`,
		`nginx.ingress.kubernetes.io/proxy-read-timeout: "120"`,
		`nginx.ingress.kubernetes.io/enable-cors: "true"`,
		`nginx.ingress.kubernetes.io/whitelist-source-range: 10.0.0.0/8`,
		`nginx.ingress.kubernetes.io/limit-rps: "20"`,
		`nginx.ingress.kubernetes.io/force-ssl-redirect: "true"`,
		`nginx.ingress.kubernetes.io/affinity: cookie`,
		`nginx.ingress.kubernetes.io/upstream-vhost: internal.example.com`,
		`{nginx.ingress.kubernetes.io/auth-url: "https://auth.example.com/check", ` +
			`nginx.ingress.kubernetes.io/auth-signin: "https://auth.example.com/start"}`,
		`{nginx.ingress.kubernetes.io/auth-type: basic, nginx.ingress.kubernetes.io/auth-secret: users}`,
		`{nginx.ingress.kubernetes.io/configuration-snippet: "more_set_headers \"X-Frame-Options: DENY\";"}`,
		`nginx.ingress.kubernetes.io/backend-protocol: HTTPS`,
		`nginx.ingress.kubernetes.io/enable-modsecurity: "true"`,
		`nginx.ingress.kubernetes.io/use-regex: "true"`,
		`nginx.ingress.kubernetes.io/rewrite-target: /$1`,
		`nginx.ingress.kubernetes.io/permanent-redirect: https://www.example.com`,
		`nginx.ingress.kubernetes.io/custom-http-errors: "503"`,
		`nginx.ingress.kubernetes.io/denylist-source-range: 192.0.2.0/24`,
	}
	var out strings.Builder
	for i := range count {
		annotations := kinds[i%len(kinds)]
		if !strings.HasPrefix(annotations, "{") {
			annotations = "{" + annotations + "}"
		}
		_, _ = fmt.Fprintf(&out, `---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: app-%[1]d, namespace: team-%[2]d, annotations: %[3]s}
spec:
  ingressClassName: nginx
  rules:
  - host: app-%[4]d.example.com
    http:
      paths:
      - {path: /part-%[5]d, pathType: Prefix, backend: {service: {name: app-%[1]d, port: {number: 80}}}}
`, i, i%50, annotations, i/4, i%4)
	}
	return out.String()
}
