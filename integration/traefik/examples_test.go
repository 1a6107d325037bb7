package traefik

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/integration/harness"
	"github.com/sluiceproxy/sluice/static"
)

const page = root + "/docs/migrate/traefik-examples.md"

// mistaken returns the fixtures that are wrong on purpose, or wrong in a way that Traefik does not report, and what is
// wrong with them. Sluice refuses them.
func mistaken() map[string]string {
	const servers = "`servers` is a map in place of a list; Traefik takes it for a server without address and answers 500"
	return map[string]string{
		"https/dynamic_https_sni.toml":         "a certificate is malformed; Traefik logs an error and goes on without it",
		"https/https_invalid_tls_options.toml": "on purpose: `RequireAndVerifyClientCert` without `caFiles`",
		"https/https_tls_options.toml":         "on purpose: a router names TLS options that do not exist",
		"invalid_configuration.toml":           "on purpose: not TOML",
		"router_errors.toml":                   "on purpose: an entrypoint and a middleware do not exist",
		"service_errors.toml":                  "on purpose: a service without a kind",
		"simple_auth.toml":                     "`api.middlewares` is not an option; Traefik does not start",
		"tcp/multi-tls-options.toml":           "on purpose: TLS options without `caFiles`",
		"tcp/service_errors.toml":              "on purpose: a TCP service without a kind",
		"udp/service_errors.toml":              "on purpose: a UDP service without a kind",
		"with_default_rule_syntax.toml":        servers,
		"without_default_rule_syntax.toml":     servers,
	}
}

// TestExamples checks each fixture and compares the page with the results. A fixture may be refused because of a
// feature that does not exist yet, or because it is wrong.
func TestExamples(t *testing.T) {
	folder := suite(t)
	wrong := mistaken()
	results := map[string]result{}
	for _, one := range fixtures(t, folder) {
		t.Run(one.name, func(t *testing.T) {
			got := check(t, folder, one)
			why, expected := wrong[one.name]
			switch {
			case expected && len(got.refused) == 0:
				t.Errorf("accepted, although it is wrong: %s", why)
			case !expected && len(got.refused) > 0:
				t.Errorf("refused:\n%s", strings.Join(got.refused, "\n"))
			}
			got.wrong = why
			results[one.name] = got
		})
	}
	text := document(results, recorded(t, answersFile))
	if *update {
		if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("run go test ./integration/traefik -update (-written +found):\n%s", diff)
	}
}

// result is what Sluice makes of a fixture.
type result struct {
	// features are those that do not exist yet and without which it is refused.
	features []string
	// refused are the other messages because of which it is refused, warned the warnings.
	refused, warned []string
	// wrong is what is wrong with the fixture.
	wrong string
	// without are the providers that were not asked, since they need an engine or a cluster.
	without []string
}

// check loads the static configuration of a fixture, and then all of it with sluice check. Providers that need an
// engine or a cluster are left out of the latter.
func check(t *testing.T, folder string, one fixture) result {
	t.Helper()
	t.Chdir(folder)
	loaded, _ := static.Load(static.Sources{ConfigFile: one.file})
	var got result
	args := []string{"check", "--configFile=" + one.file}
	providers := loaded.Configuration.Providers
	for _, provider := range []struct {
		name string
		used bool
	}{
		{"docker", providers.Docker != nil},
		{"kubernetesCRD", providers.KubernetesCRD != nil},
		{"kubernetesIngress", providers.KubernetesIngress != nil},
		{"kubernetesGateway", providers.KubernetesGateway != nil},
	} {
		if provider.used {
			got.without = append(got.without, provider.name)
			args = append(args, "--providers."+provider.name+"=false")
		}
	}
	answer := harness.Run(t, folder, nil, args...)
	for line := range strings.Lines(answer.Stdout) {
		got.add(strings.TrimSpace(strings.ReplaceAll(line, one.file, filepath.Base(one.name))))
	}
	if refused := len(got.refused)+len(got.features) > 0; refused != (answer.Code != 0) {
		t.Errorf("exit code %d:\n%s", answer.Code, answer.Stdout)
	}
	slices.Sort(got.features)
	got.features = slices.Compact(got.features)
	return got
}

// add notes one line of sluice check. Warnings about certificates are left out, since they depend on the day.
func (r *result) add(line string) {
	line, _, _ = strings.Cut(line, "; disables ")
	switch feature := missing(line); {
	case line == "", strings.Contains(line, ": the configuration is "):
	case strings.HasSuffix(line, "(warning)"), strings.HasSuffix(line, "(degraded)"):
		if !strings.Contains(line, ": the certificate expired on ") {
			r.warned = append(r.warned, warning(line))
		}
	case feature != "":
		r.features = append(r.features, feature)
	default:
		r.refused = append(r.refused, line)
	}
}

// warning returns a warning for the page: without place and code, and in short where it is frequent.
func warning(line string) string {
	if strings.Contains(line, "shows the configuration without access control") {
		return "the API is open"
	}
	if strings.Contains(line, "no certificate covers these hosts") {
		return "no certificate for the hosts"
	}
	ignored := regexp.MustCompile(`option (\S+): is not supported yet and is ignored`)
	if option := ignored.FindStringSubmatch(line); option != nil {
		return "`" + option[1] + "` is not supported yet"
	}
	if section := regexp.MustCompile(`option (\S+): belongs to the dynamic`).FindStringSubmatch(line); section != nil {
		return "`" + section[1] + "` is for the file provider of another example"
	}
	return regexp.MustCompile(`^\S+\.\w+(:\d+)?: |^api: |( \[\w+\])?( \(\w+\))?$`).ReplaceAllString(line, "")
}

// missing returns the feature that a message reports as not existing yet; it is empty for other messages.
func missing(line string) string {
	for _, pattern := range []struct{ line, feature string }{
		{`option providers\.(\w+): is not supported yet`, "the provider $1"},
		{`option certificatesResolvers\.?.*: is not supported yet`, "ACME"},
		{`: (tcp|udp)[A-Z]\w+ \S+: .*not supported yet`, "$1"},
		{`: option (\w+): is not supported yet`, "$1"},
		{`: parentRefs is not supported yet`, "parentRefs"},
		{`: router parent-\S+: the service is missing`, "parentRefs"}, // Its children have one.
	} {
		match := regexp.MustCompile(pattern.line).FindStringSubmatchIndex(line)
		if match != nil {
			return string(regexp.MustCompile(pattern.line).ExpandString(nil, pattern.feature, line, match))
		}
	}
	return ""
}
