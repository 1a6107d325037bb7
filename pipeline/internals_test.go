package pipeline

import (
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/provider"
)

// TestDedupHashesOnce shows that what is hashed once is not hashed again.
func TestDedupHashesOnce(t *testing.T) {
	first, ref := &dynamic.Router{Rule: "Host(`a`)"}, dynamic.Ref{Kind: dynamic.KindRouter, Name: "x"}
	own := newDeclaration()
	if !own.same(ref, first, first) || len(own.sums) != 0 {
		t.Error("an equal pointer was hashed")
	}
	if !own.same(ref, first, &dynamic.Router{Rule: "Host(`a`)"}) || len(own.sums) != 1 {
		t.Error("an equal value was not recognised by its fingerprint")
	}
	own.sums[ref]++ // The stored fingerprint is used.
	if own.same(ref, first, &dynamic.Router{Rule: "Host(`a`)"}) {
		t.Error("the fingerprint was computed again")
	}
}

func TestVerdictsOfAGenerationAreBounded(t *testing.T) {
	var g Generation
	g.judge(make([]dynamic.Verdict, 150), make([]dynamic.Verdict, MaxChanges+1))
	g.judge(make([]dynamic.Verdict, 150), nil)
	if len(g.Worse) != MaxChanges || len(g.Recovered) != MaxChanges || g.MoreVerdicts != 101 {
		t.Errorf("%d worse, %d recovered, %d more", len(g.Worse), len(g.Recovered), g.MoreVerdicts)
	}
}

func TestEveryKindIsFound(t *testing.T) {
	configuration := &dynamic.Configuration{
		HTTP: &dynamic.HTTPConfiguration{
			Routers:           immutable.Of(map[string]*dynamic.Router{"n": {}}),
			Services:          immutable.Of(map[string]*dynamic.Service{"n": {}}),
			Middlewares:       immutable.Of(map[string]*dynamic.Middleware{"n": {}}),
			ServersTransports: immutable.Of(map[string]*dynamic.ServersTransport{"n": {}}),
		},
		TCP: &dynamic.TCPConfiguration{
			Routers:           immutable.Of(map[string]*dynamic.TCPRouter{"n": {}}),
			Services:          immutable.Of(map[string]*dynamic.TCPService{"n": {}}),
			Middlewares:       immutable.Of(map[string]*dynamic.TCPMiddleware{"n": {}}),
			ServersTransports: immutable.Of(map[string]*dynamic.TCPServersTransport{"n": {}}),
		},
		UDP: &dynamic.UDPConfiguration{
			Routers:  immutable.Of(map[string]*dynamic.UDPRouter{"n": {}}),
			Services: immutable.Of(map[string]*dynamic.UDPService{"n": {}}),
		},
		TLS: &dynamic.TLSConfiguration{
			Certificates: []*dynamic.CertificateEntry{{Name: "n"}, {Name: "n"}},
			Options:      immutable.Of(map[string]*dynamic.TLSOptions{"n": {}}),
			Stores:       immutable.Of(map[string]*dynamic.TLSStore{"n": {}}),
		},
	}
	all := newObjects(configuration)
	for _, kind := range []dynamic.Kind{
		dynamic.KindRouter, dynamic.KindService, dynamic.KindMiddleware, dynamic.KindServersTransport, dynamic.KindTLSOptions,
		dynamic.KindTLSStore,
		dynamic.KindCertificate, dynamic.KindTCPRouter, dynamic.KindTCPService, dynamic.KindTCPMiddleware,
		dynamic.KindTCPServersTransport,
		dynamic.KindUDPRouter, dynamic.KindUDPService,
	} {
		if all.find(dynamic.Ref{Kind: kind, Name: "n"}) == nil || all.find(dynamic.Ref{Kind: kind, Name: "m"}) != nil {
			t.Errorf("%s is not found, or another one is", kind)
		}
	}
	if all.find(dynamic.Ref{Kind: dynamic.KindCertificate, Name: "n"}) != any(configuration.TLS.Certificates[0]) {
		t.Error("of two certificates of one name the second one is found")
	}
}

// TestEndpointChangesMakeNothing bounds what the State of an endpoint change costs beside the State itself.
func TestEndpointChangesMakeNothing(t *testing.T) {
	p := New(Options{})
	p.update.States = map[string]provider.Status{"a": {State: dynamic.StateSynced}, "b": {
		State:  dynamic.StateSynced,
		Reason: "r",
	}}
	p.active.generation = 1
	p.published = make([]dynamic.Verdict, 10)
	p.remember(Generation{Number: 1})
	p.publishState()
	if got := testing.AllocsPerRun(100, p.publishState); got > 1 {
		t.Errorf("a State takes %v allocations", got)
	}
}

func BenchmarkPublishState(b *testing.B) {
	p := New(Options{})
	p.update.States = map[string]provider.Status{}
	for _, name := range []string{"internal", "file", "docker", "dns", "kubernetescrd", "kubernetes", "endpoints"} {
		p.update.States[name] = provider.Status{State: dynamic.StateSynced}
	}
	p.active.generation = 1
	p.remember(Generation{Number: 1})
	b.ReportAllocs()
	for b.Loop() {
		p.publishState()
	}
}
