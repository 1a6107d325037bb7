package input

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// Objects that are written are accepted, beside the Services that they need.
func TestMigrateWrites(t *testing.T) {
	t.Parallel()
	const ingress = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: shop, namespace: web, annotations: {nginx.ingress.kubernetes.io/proxy-body-size: 8m}}
spec:
  ingressClassName: nginx
  tls: [{hosts: [shop.example.com], secretName: shop}]
  rules:
  - host: shop.example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: shop, port: {number: 80}}}}]}
`
	for format, kind := range map[string]string{"ingressroute": "kind: IngressRoute\n", "gateway": "kind: HTTPRoute\n"} {
		folder := t.TempDir()
		file, input := filepath.Join(folder, "routes.yaml"), filepath.Join(folder, "shop.yaml")
		if err := os.WriteFile(input, []byte(ingress), 0o600); err != nil {
			t.Fatal(err)
		}
		result := migrated(t, "-f", input, "--write", format, "-o", file)
		if result.Code != 0 || result.Stdout+result.Stderr != "" {
			t.Fatalf("%s: exit code %d, %s%s", format, result.Code, result.Stdout, result.Stderr)
		}
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), kind) || strings.Contains(string(text), "# Not written") {
			t.Errorf("%s: %v\n%s", format, err, text)
		}
		if printed := migrated(t, input, "--write="+format); printed.Stdout != string(text) {
			t.Errorf("%s: standard output has something else:\n%s", format, printed.Stdout)
		}
		checked := harness.Run(t, folder, nil, "check", file, certificateManifest(t, folder))
		if checked.Code != 0 {
			t.Errorf("%s: exit code %d, %s%s\n%s", format, checked.Code, checked.Stdout, checked.Stderr, text)
		}
	}
}

// certificateManifest returns a file with the Secret that the Ingress names.
func certificateManifest(t *testing.T, folder string) string {
	t.Helper()
	issued := harness.NewAuthority(t).Issue("shop.example.com")
	text := "apiVersion: v1\nkind: Secret\nmetadata: {name: shop, namespace: web}\ntype: kubernetes.io/tls\ndata:\n"
	for _, one := range []struct{ key, file string }{{"tls.crt", issued.CertFile}, {"tls.key", issued.KeyFile}} {
		content, err := os.ReadFile(one.file)
		if err != nil {
			t.Fatal(err)
		}
		text += "  " + one.key + ": " + base64.StdEncoding.EncodeToString(content) + "\n"
	}
	file := filepath.Join(folder, "secret.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// What cannot be written is named, and the route answers 503.
func TestMigrateWritesWhatIsLeft(t *testing.T) {
	t.Parallel()
	result := migrated(t, "-f", "shop.yaml", "--write", "ingressroute")
	closed := "enable-modsecurity: Sluice has no firewall, and ModSecurity is not executed"
	if result.Code != 1 || !strings.Contains(result.Stderr, "not written as it is: router web.admin,") ||
		!strings.Contains(result.Stderr, closed) || !strings.Contains(result.Stdout, "# Not written as it is:\n# - ") ||
		!strings.Contains(result.Stdout, "name: nginx-closed\n") || strings.Contains(result.Stdout, "kind: Secret\n") {
		t.Errorf("exit code %d, %s\n%s", result.Code, result.Stderr, result.Stdout)
	}
	for _, test := range []struct {
		args   []string
		stderr string
	}{
		{[]string{"--write", "helm"}, "--write helm: one of gateway, ingressroute"},
		{[]string{"--write="}, "--write is empty: one of gateway, ingressroute"},
		{[]string{"--write", "gateway", "--output", "html"}, "--write and --output html exclude each other"},
		{[]string{"--write", "gateway", "--live-old", "192.0.2.1"}, "--write and --live-old exclude each other"},
		{[]string{"--write", "gateway", "--probes", "5"}, "--write and --probes exclude each other"},
	} {
		result := migrated(t, append([]string{"-f", "same.yaml"}, test.args...)...)
		if result.Code != 2 || result.Stdout != "" || !strings.Contains(result.Stderr, test.stderr) {
			t.Errorf("%q: exit code %d, %s%s", test.args, result.Code, result.Stdout, result.Stderr)
		}
	}
}
