package router_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/router"
)

// secured is a compiler with the switch that it activates.
type secured struct {
	target   *router.ActiveTable
	compiler *router.Compiler
}

func newSecured(changes ...func(*router.Options)) secured {
	entryPoints := []router.EntryPoint{{Name: "web", Default: true, TLS: &dynamic.RouterTLS{}}}
	target := router.NewActiveTable(entryPoints)
	options := router.Options{
		EntryPoints: entryPoints, Tickets: certificate.NewTickets(),
		Internal: map[string]http.Handler{"echo@internal": http.NotFoundHandler()},
	}
	for _, change := range changes {
		change(&options)
	}
	return secured{target, router.NewCompiler(options, target)}
}

// apply activates a configuration and returns its verdicts and, by host, the options of connections.
func (s secured) apply(
	configuration *dynamic.Configuration, changed []dynamic.Ref,
) (verdicts []dynamic.Verdict, options map[string]string) {
	compiled := s.compiler.Compile(router.Input{Configuration: configuration, Changed: changed, Final: true})
	compiled.Activate(1)
	options = map[string]string{}
	for _, host := range []string{"h0.test", "h1.test", "h2.test", "h3.test", "other.test", ""} {
		chosen, ok := s.target.TLS("web").SelectTLS(host)
		options[host] = fmt.Sprint(ok)
		if ok {
			options[host] = fmt.Sprintf("%x", chosen.Fingerprint)
		}
	}
	return compiled.Verdicts, options
}

// TestEditsChooseTLSOptionsAsAFreshTable edits routers and TLS options at random. After each edit the table must choose
// and report as one that is compiled of the whole configuration.
func TestEditsChooseTLSOptionsAsAFreshTable(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	rules := []string{
		"Host(`h0.test`)", "Host(`h0.test`) || Host(`h1.test`)", "Host(`h1.test`) && Path(`/a`)", "Host(`*.test`)",
		"Host(`*.test`) && Path(`/long`)", "HostRegexp(`^h[23]`)", "Host(`h3.test`)", "PathPrefix(`/`)",
	}
	versions := []string{"VersionTLS12", "VersionTLS13", "VersionNone"} // The last one cannot be used.
	var routers immutable.Map[string, *dynamic.Router]
	var options immutable.Map[string, *dynamic.TLSOptions]
	edited := newSecured()
	for round := range 400 {
		var changed []dynamic.Ref
		for range 1 + random.IntN(3) {
			if random.IntN(6) == 0 {
				name := []string{"a@file", "b@file", "default"}[random.IntN(3)]
				options = options.Without(name)
				if random.IntN(3) > 0 {
					options = options.With(name, &dynamic.TLSOptions{MinVersion: versions[random.IntN(len(versions))]})
				}
				changed = append(changed, dynamic.Ref{Kind: dynamic.KindTLSOptions, Name: name})
				continue
			}
			name := fmt.Sprintf("r%d@file", random.IntN(12))
			routers = routers.Without(name)
			if random.IntN(4) > 0 {
				routers = routers.With(name, &dynamic.Router{
					Rule: rules[random.IntN(len(rules))], Service: "echo@internal", Priority: random.IntN(3),
					TLS: &dynamic.RouterTLS{Options: []string{"", "a@file", "b@file"}[random.IntN(3)]},
				})
			}
			changed = append(changed, dynamic.Ref{Kind: dynamic.KindRouter, Name: name})
		}
		configuration := &dynamic.Configuration{
			HTTP: &dynamic.HTTPConfiguration{Routers: routers}, TLS: &dynamic.TLSConfiguration{Options: options},
		}
		var all []dynamic.Ref
		for ref := range configuration.Objects() {
			all = append(all, ref)
		}
		gotVerdicts, got := edited.apply(configuration, changed)
		wantVerdicts, want := newSecured().apply(configuration, all)
		if diff := cmp.Diff(wantVerdicts, gotVerdicts) + cmp.Diff(want, got); diff != "" {
			t.Fatalf("round %d (-fresh +edited):\n%s", round, diff)
		}
	}
}
