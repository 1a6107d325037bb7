package router

import (
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Options that are known and have no effect yet are said to have none.
func TestOptionsWithoutEffectAreReported(t *testing.T) {
	b := newBench(t)
	b.router("r@file", "Path(`/`)", "a@internal").Observability = &dynamic.RouterObservability{TraceVerbosity: "chatty"}
	b.all()
	b.wantVerdict(ref(dynamic.KindRouter, "r@file"), dynamic.Degraded, `observability.traceVerbosity "chatty" is neither`)
	b.wantService("http://x.test/", "a")
}

// A verdict names its object once, and so does the reason of an object that refers to it.
func TestReasonsNameEachObjectOnce(t *testing.T) {
	b := newBench(t)
	b.config.HTTP.ServersTransports = b.config.HTTP.ServersTransports.With("t@file", &dynamic.ServersTransport{
		RootCAs: []string{"/does/not/exist.pem"},
	})
	b.service("s@file", balancer("https://192.0.2.1"))
	b.config.HTTP.Services.Get("s@file").LoadBalancer.ServersTransport = "t"
	b.config.TLS.Options = b.config.TLS.Options.With("o@file", &dynamic.TLSOptions{MinVersion: "VersionTLS99"})
	b.router("r@file", "Host(`x.test`)", "s").TLS = &dynamic.RouterTLS{Options: "o"}
	b.secure("q@file", "Host(`y.test`)", "a@internal", "o")
	b.all()
	if len(b.compiled.Verdicts) != 6 { // The sixth is on the hosts, which no certificate covers.
		t.Errorf("verdicts %v, want six", b.compiled.Verdicts)
	}
	for _, verdict := range b.compiled.Verdicts {
		text := verdict.String()
		for _, name := range []string{"r@file", "s@file", "t@file", "o@file", "q@file"} {
			if strings.Count(text, name) > 1 {
				t.Errorf("names %s more than once: %s", name, text)
			}
		}
	}
}
