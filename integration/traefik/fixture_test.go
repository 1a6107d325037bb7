package traefik

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"text/template"
)

// fixture is one configuration file of Traefik's tests.
type fixture struct {
	// name is the path below the folder fixtures, with slashes.
	name string
	// file is the one to load: the file itself, or what its template renders.
	file string
}

// fixtures finds the static configurations of Traefik's tests, which are all in TOML; what is in YAML are manifests of
// Kubernetes and configurations of collectors. Templates are rendered, as Traefik's tests do.
func fixtures(t *testing.T, suite string) []fixture {
	t.Helper()
	folder, rendered := filepath.Join(suite, "fixtures"), t.TempDir()
	var found []fixture
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".toml" {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		found = append(found, fixture{name: name, file: render(t, suite, path, rendered)})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// render returns the path of a file that the template at a path makes. A file that is no template, or has functions of
// Traefik's own templates, is used as it is.
func render(t *testing.T, suite, path, into string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := template.New("").Option("missingkey=error").Parse(string(text))
	if err != nil || !bytes.Contains(text, []byte("{{")) {
		return path
	}
	below, err := filepath.Rel(suite, path)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(into, strings.ReplaceAll(filepath.ToSlash(below), "/", "_"))
	values := variables(t, suite, string(text))
	values["SelfFilename"] = out
	if strings.Contains(string(text), ".DynamicConf") {
		dynamic := render(t, suite, filepath.Join(suite, "resources/compose/x_forwarded_for.toml"), into)
		values["DynamicConfPath"] = dynamic
		values["DynamicConfFileName"] = filepath.Join(suite, "fixtures/https/dynamic_https.toml")
	}
	var b bytes.Buffer
	if err := parsed.Execute(&b, values); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if err := os.WriteFile(out, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return out
}

// variables returns the values of the variables of a template. Servers are at a port of loopback that is closed, unless
// the template adds a port.
func variables(t *testing.T, suite, text string) map[string]any {
	t.Helper()
	pem := func(path string) string {
		content, err := os.ReadFile(filepath.Join(suite, path))
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	domain := map[string]any{"Main": "traefik.acme.wtf", "SANs": []string{"traefik1.acme.wtf"}}
	challenge := map[string]any{
		"KeyType": "RSA2048", "CAServer": "https://127.0.0.1:14000/dir", "TLSChallenge": nil,
		"HTTPChallenge": map[string]string{"EntryPoint": "web"},
	}
	values := map[string]any{
		"Acme": map[string]any{"default": map[string]any{"ACME": challenge}}, "Domain": domain, "Domains": []any{domain},
		"PortHTTP": ":5002", "PortHTTPS": ":5001",
		"CertContent": pem("resources/tls/local.cert"), "KeyContent": pem("resources/tls/local.key"),
		"RootCertContent":   pem("fixtures/tlsclientheaders/root.pem"),
		"ServerCertContent": pem("fixtures/tlsclientheaders/server.pem"),
		"ServerKeyContent":  pem("fixtures/tlsclientheaders/server.key"),
		"GRPCServerPort":    "1", "AuthPort": "1", "WhoamiPort": "1",
		"DefaultRule": "Host(`{{ normalize .Name }}.docker.localhost`)", "DockerHost": "unix:///var/run/docker.sock",
		"Precedence": `["file", "docker"]`, "DefaultRuleSyntax": "v3", "Strategy": "delete", "IdleConnTimeout": "10s",
		"IsHTTP": true, "ResponderURL": "http://127.0.0.1:1", "CollectorURL": "http://127.0.0.1:1/v1/logs",
	}
	// A variable is a whole URL or address, or the host of one.
	for _, use := range regexp.MustCompile(`\{\{ ?\.(\w+) ?\}\}`).FindAllStringSubmatchIndex(text, -1) {
		name, before := text[use[2]:use[3]], text[:use[0]]
		before = strings.TrimSpace(before[strings.LastIndex(before, "\n")+1:])
		switch _, given := values[name]; {
		case given:
		case before == `url = "`:
			values[name] = "http://127.0.0.1:1"
		case strings.HasPrefix(text[use[1]:], ":"):
			values[name] = "127.0.0.1"
		case strings.HasPrefix(before, `address = "`) || strings.HasPrefix(before, "endpoints") ||
			strings.HasSuffix(name, "Address"):
			values[name] = "127.0.0.1:1"
		default:
			values[name] = "127.0.0.1"
		}
	}
	return values
}
