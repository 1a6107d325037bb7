package static

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzLoad feeds arbitrary files, variables and flags. A load never panics, every finding has a text, and a
// configuration without errors is one that can be put to use.
func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("testdata/load/*.*ml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data), filepath.Ext(file) == ".toml", "SLUICE_LOG_LEVEL=DEBUG", "--api")
	}
	f.Add("", false, "SLUICE_ENTRYPOINTS_A_B_HTTP_TLS_DOMAINS_0_SANS=a,b", "--entryPoints.x.http.tls.domains[3].main=y")
	f.Add("http: {routers: {}}\nproviders: {file: {filename: sluice.yaml}}", false, "TRAEFIK_LOG_LEVEL=INFO", "--http.a=b")
	f.Add("entryPoints: {a: {tls: {}, routers: {}}}\nlevel: x", false, "TRAEFIK_ENTRYPOINTS_A_TLS=1", "--entryPoints.a[0].b")
	f.Add("entryPoints: {}", false, "SLUICE_PROVIDERS_PLUGIN_X_Y=1", "--entryPoints.x=false --entryPoints.x.address :80")
	f.Add("a: &a [*a]", false, "SLUICE_=", "--=")
	f.Fuzz(func(t *testing.T, text string, isTOML bool, variables, args string) {
		name := "sluice.yaml"
		if isTOML {
			name = "sluice.toml"
		}
		l := newLoader()
		l.File = name
		flags, _ := l.parseFlags(strings.Fields(args))
		l.readDocument([]byte(text))
		loaded, findings := l.finish(strings.Fields(variables), flags)
		for _, finding := range findings {
			if finding.Reason == "" || finding.Line < 0 {
				t.Errorf("bad finding %+v", finding)
			}
		}
		if HasErrors(findings) {
			return
		}
		if len(loaded.Configuration.EntryPoints) == 0 {
			t.Error("no entrypoint")
		}
		for name, entryPoint := range loaded.Configuration.EntryPoints {
			if _, err := entryPoint.ListenAddress(); err != nil {
				t.Errorf("entrypoint %q: %v", name, err)
			}
		}
	})
}
