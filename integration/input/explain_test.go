package input

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// asking is the static configuration; the port of a URL selects the entrypoint.
const asking = `
entryPoints:
  web: {address: "127.0.0.1:0"}
  websecure: {address: "127.0.0.1:0", asDefault: false, http: {tls: {}}}
  traefik: {address: "127.0.0.1:0"}
ping: {}
api: {insecure: true, dashboard: false}
providers:
  file: {directory: "${DYNAMIC}"}
`

type question struct {
	name string
	args []string
	code int
}

func questions() []question {
	return []question{
		{"host-and-path", []string{"GET", "http://shop.test/cart/1"}, 0},
		{"flags-in-any-order", []string{
			"-H", "X-Env: canary", "GET", "--client", "10.1.2.3", "http://shop.test/cart/1",
			"--entrypoint=web", "-H=X-More: 1",
		}, 0},
		{"headers-repeat", []string{
			"get", "shop.test/", "-H", "X-Env: stable", "-H", "X-Env: canary",
			"--client=10.1.2.3:4711",
		}, 0},
		{"method", []string{"POST", "http://shop.test/"}, 0},
		{"host-header", []string{"GET", "http://127.0.0.1/", "-H", "Host: SHOP.test:80"}, 0},
		{"tls", []string{"GET", "https://secure.test/"}, 0},
		{"disabled", []string{"GET", "http://closed.test/"}, 1},
		{"empty-pool", []string{"GET", "http://empty.test/"}, 1},
		{"same-priority", []string{"GET", "http://tie.test/"}, 0},
		{"no-router", []string{"GET", "http://nobody.test/"}, 1},
		{"misspelt-host", []string{"GET", "http://shpo.test/cart"}, 1},
		{"plain-instead-of-tls", []string{"GET", "http://secure.test/"}, 1},
		{"another-entrypoint", []string{"GET", "http://shop.test/", "--entrypoint", "traefik"}, 1},
		{"path-in-another-form", []string{"GET", "http://shop.test//cart/../cart/%31"}, 0},
		{"unknown-entrypoint", []string{"GET", "http://shop.test/", "--entrypoint", "wbe"}, 2},
		{"bad-client", []string{"GET", "http://shop.test/", "--client", "nobody"}, 2},
		{"bad-scheme", []string{"GET", "ftp://shop.test/"}, 2},
		{"bad-url", []string{"GET", "http://shop test/"}, 2},
		{"bad-method", []string{"G E T", "http://shop.test/"}, 2},
	}
}

// startExplain starts a Sluice on testdata/explain.
func startExplain(t *testing.T) *harness.Sluice {
	t.Helper()
	return harness.Start(t, harness.Setup{Static: asking, Dynamic: read(t, "explain")})
}

func TestExplain(t *testing.T) {
	t.Parallel()
	s := startExplain(t)
	s.Until("the verdicts", func(r harness.Readiness) bool { return r.Quarantined == 2 })
	config, api := "--configFile="+filepath.Join(s.Dir, "sluice.yaml"), "--api=http://"+s.Addr("traefik")
	for _, question := range questions() {
		t.Run(question.name, func(t *testing.T) {
			t.Parallel()
			text := harness.Run(t, s.Dir, nil, append([]string{"explain", config}, question.args...)...)
			asJSON := harness.Run(t, s.Dir, nil, append(append([]string{"explain"}, question.args...), "--json", config)...)
			remote := harness.Run(t, s.Dir, nil, append([]string{"explain", api, "--json"}, question.args...)...)
			if question.code == 2 {
				golden(t, "explain/"+question.name+".golden", lines(text.Stderr)[len(lines(text.Stderr))-1]+"\n")
				if text.Stdout+asJSON.Stdout+remote.Stdout != "" {
					t.Errorf("something is answered: %s%s%s", text.Stdout, asJSON.Stdout, remote.Stdout)
				}
			} else {
				golden(t, "explain/"+question.name+".golden", text.Stdout)
				golden(t, "explain/"+question.name+".json", asJSON.Stdout)
				if diff := cmp.Diff(asJSON.Stdout, remote.Stdout); diff != "" {
					t.Errorf("a running Sluice answers otherwise: (-here +there)\n%s", diff)
				}
			}
			for way, result := range map[string]harness.Result{"text": text, "JSON": asJSON, "API": remote} {
				if result.Code != question.code {
					t.Errorf("%s: exit code %d, want %d\n%s", way, result.Code, question.code, result.Stderr)
				}
			}
		})
	}
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	s := startExplain(t)
	s.Until("the verdicts", func(r harness.Readiness) bool { return r.Quarantined == 2 })
	config, api := "--configFile="+filepath.Join(s.Dir, "sluice.yaml"), "--api=http://"+s.Addr("traefik")+"/api/"
	text := harness.Run(t, s.Dir, nil, "routes", config)
	golden(t, "explain/routes.golden", text.Stdout)
	asJSON := harness.Run(t, s.Dir, nil, "routes", "--json", config)
	golden(t, "explain/routes.json", asJSON.Stdout)
	remote := harness.Run(t, s.Dir, nil, "routes", "--json", api)
	if diff := cmp.Diff(asJSON.Stdout, remote.Stdout); diff != "" || remote.Code+text.Code+asJSON.Code != 0 ||
		remote.Stderr != "configuration: the running Sluice at http://"+s.Addr("traefik")+"/api/\n" {
		t.Errorf("a running Sluice answers otherwise: (-here +there)\n%s%s", diff, remote.Stderr)
	}
	if want := "configuration: " + filepath.Join(s.Dir, "sluice.yaml") +
		"\n3 findings; print them with: sluice check\n"; text.Stderr != want {
		t.Errorf("standard error is %q, want %q", text.Stderr, want)
	}
}

func TestRoutesOfNothing(t *testing.T) {
	t.Parallel()
	result := harness.Run(t, t.TempDir(), nil, "routes", "--json", "--entryPoints.web.address=127.0.0.1:0")
	var listings []struct{}
	if err := json.Unmarshal([]byte(result.Stdout), &listings); err != nil || listings == nil || len(listings) > 0 ||
		result.Code != 1 {
		t.Errorf("exit code %d, %v: %s", result.Code, err, result.Stdout)
	}
	if result = harness.Run(t, t.TempDir(), nil, "routes", "--log.level=loud"); result.Code != 2 ||
		!strings.Contains(result.Stderr, "option log.level") {
		t.Errorf("exit code %d: %s", result.Code, result.Stderr)
	}
	if result = harness.Run(t, t.TempDir(), nil, "routes", "--api=http://127.0.0.1:1"); result.Code != 2 ||
		!strings.Contains(result.Stderr, "connection refused") {
		t.Errorf("exit code %d: %s", result.Code, result.Stderr)
	}
}
