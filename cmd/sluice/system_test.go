package main

import (
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/static"
)

// Any router may name these services, so one that the operator has not enabled must not exist.
func TestInternalServicesAreThoseThatAreEnabled(t *testing.T) {
	everything := &static.Configuration{
		Ping: &static.Ping{}, API: &static.API{Dashboard: true}, Metrics: &static.Metrics{Prometheus: &static.Prometheus{}},
	}
	for _, test := range []struct {
		name   string
		config *static.Configuration
		want   []string
	}{
		{"nothing", &static.Configuration{}, []string{"noop@internal"}},
		{"metrics elsewhere", &static.Configuration{Metrics: &static.Metrics{}}, []string{"noop@internal"}},
		{"everything", everything, []string{
			"api@internal", "dashboard@internal", "noop@internal", "ping@internal",
			"prometheus@internal",
		}},
	} {
		s, err := newSystem(static.Loaded{Configuration: test.config}, &inputs{}, silent{}, false)
		if err != nil {
			t.Fatal(err)
		}
		services := map[string]http.Handler{}
		if newManagement(s, services).ping == nil {
			t.Errorf("%s: no ping to drain", test.name)
		}
		if diff := cmp.Diff(test.want, slices.Sorted(maps.Keys(services))); diff != "" {
			t.Errorf("%s: services (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestAStaticTransportThatCannotBeMadeKeepsSluiceFromStarting(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none.pem")
	for command, other := range map[string]string{
		"run": `msg="Sluice starts"`, "check": "environment and flags: the configuration is not valid: ",
	} {
		var stdout, stderr strings.Builder
		args := []string{command, "--entryPoints.web.address=127.0.0.1:0", "--serversTransport.rootCAs=" + missing}
		if code := run(args, nil, &stdout, &stderr); code != 1 {
			t.Errorf("%s: exit code %d, want 1", command, code)
		}
		said := stdout.String() + stderr.String()
		if !strings.Contains(said, "serversTransport: rootCAs[0]: open "+missing) || strings.Count(said, "\n") != 2 ||
			!strings.Contains(said, other) {
			t.Errorf("%s says %q, want one line that names the file, and one with %q", command, said, other)
		}
	}
}

// The router table is not the one that the operator wrote when nothing of it could be read.
func TestExplainAndRoutesFailWhenAProviderHasNothing(t *testing.T) {
	file := filepath.Join(t.TempDir(), "none.yaml")
	for _, args := range [][]string{{"explain", "GET", "http://x.test/"}, {"routes"}} {
		var stdout, stderr strings.Builder
		args = append(args, "--entryPoints.web.address=127.0.0.1:0", "--providers.file.filename="+file)
		if code := run(args, nil, &stdout, &stderr); code != exitBroken || stdout.Len() > 0 {
			t.Errorf("%s: exit code %d, stdout %q; want 2 and nothing", args[0], code, stdout.String())
		}
		if !strings.Contains(stderr.String(), "no such file") {
			t.Errorf("%s says %q", args[0], stderr.String())
		}
	}
}
