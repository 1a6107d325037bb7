package pipeline_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
	"github.com/sluiceproxy/sluice/pipeline"
)

func TestMergeQualifiesAndKeepsPointers(t *testing.T) {
	m := pipeline.NewMerger(nil)
	file, docker := routers("a", "Host(`a`)", "b", "Host(`b`)"), routers("a", "Host(`c`)")
	configurations := map[string]*dynamic.Configuration{"file": file, "docker": docker}
	first, changed := m.Merge(configurations, []string{"docker", "file"})
	if diff := cmp.Diff([]string{`router "a@docker"`, `router "a@file"`, `router "b@file"`}, names(changed)); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	if first.HTTP.Routers.Get("a@file") != file.HTTP.Routers.Get("a") ||
		first.HTTP.Routers.Get("a@docker") != docker.HTTP.Routers.Get("a") {
		t.Error("a merged router is not the declared one")
	}

	// An equal configuration of other pointers changes nothing and keeps the old pointers.
	configurations["file"] = routers("a", "Host(`a`)", "b", "Host(`b`)")
	second, changed := m.Merge(configurations, []string{"file"})
	if len(changed) != 0 || second != first {
		t.Errorf("an equal configuration changed %v", names(changed))
	}

	configurations["file"] = routers("a", "Host(`a`)", "b", "Host(`changed`)", "new", "Host(`n`)")
	third, changed := m.Merge(configurations, []string{"file"})
	if diff := cmp.Diff([]string{`router "b@file"`, `router "new@file"`}, names(changed)); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	if third.HTTP.Routers.Get("a@file") != file.HTTP.Routers.Get("a") {
		t.Error("an unchanged router lost its pointer")
	}
	if first.HTTP.Routers.Get("b@file").Rule != "Host(`b`)" || first.HTTP.Routers.Len() != 3 {
		t.Error("a merged configuration was changed after it had been given away")
	}

	configurations["file"] = routers("new", "Host(`n`)")
	fourth, changed := m.Merge(configurations, []string{"file"})
	if diff := cmp.Diff([]string{`router "a@file"`, `router "b@file"`}, names(changed)); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	if got := slices.Sorted(fourth.HTTP.Routers.Keys()); !slices.Equal(got, []string{"a@docker", "new@file"}) {
		t.Errorf("routers = %v", got)
	}
}

func TestMergeAllKinds(t *testing.T) {
	one := &dynamic.Configuration{
		HTTP: &dynamic.HTTPConfiguration{
			Routers:           immutable.Of(map[string]*dynamic.Router{"x": {}}),
			Services:          immutable.Of(map[string]*dynamic.Service{"x": {}}),
			Middlewares:       immutable.Of(map[string]*dynamic.Middleware{"x": {}}),
			ServersTransports: immutable.Of(map[string]*dynamic.ServersTransport{"x": {}}),
		},
		TCP: &dynamic.TCPConfiguration{
			Routers:           immutable.Of(map[string]*dynamic.TCPRouter{"x": {}}),
			Services:          immutable.Of(map[string]*dynamic.TCPService{"x": {}}),
			Middlewares:       immutable.Of(map[string]*dynamic.TCPMiddleware{"x": {}}),
			ServersTransports: immutable.Of(map[string]*dynamic.TCPServersTransport{"x": {}}),
		},
		UDP: &dynamic.UDPConfiguration{
			Routers:  immutable.Of(map[string]*dynamic.UDPRouter{"x": {}}),
			Services: immutable.Of(map[string]*dynamic.UDPService{"x": {}}),
		},
		TLS: &dynamic.TLSConfiguration{
			Options:      immutable.Of(map[string]*dynamic.TLSOptions{"x": {}}),
			Stores:       immutable.Of(map[string]*dynamic.TLSStore{"x": {}}),
			Certificates: []*dynamic.CertificateEntry{{Certificate: dynamic.Certificate{CertFile: "x"}}},
		},
		Origins: immutable.Of(map[dynamic.Ref]dynamic.Origin{}),
	}
	kinds := []dynamic.Kind{
		dynamic.KindRouter, dynamic.KindService, dynamic.KindMiddleware, dynamic.KindServersTransport,
		dynamic.KindTLSOptions, dynamic.KindTLSStore, dynamic.KindCertificate,
		dynamic.KindTCPRouter, dynamic.KindTCPService, dynamic.KindTCPMiddleware, dynamic.KindTCPServersTransport,
		dynamic.KindUDPRouter, dynamic.KindUDPService,
	}
	want := map[dynamic.Ref]struct{}{}
	for line, kind := range kinds {
		one.Origins = one.Origins.With(dynamic.Ref{Kind: kind, Name: "x"}, dynamic.Origin{File: "f", Line: line + 1})
		want[dynamic.Ref{Kind: kind, Name: "x@p"}] = struct{}{}
	}
	m := pipeline.NewMerger(nil)
	configurations := map[string]*dynamic.Configuration{"p": one}
	merged, changed := m.Merge(configurations, []string{"p"})
	if diff := cmp.Diff(want, changed); diff != "" {
		t.Errorf("added (-want +got):\n%s", diff)
	}
	for line, kind := range kinds {
		origin, ok := m.Origin(dynamic.Ref{Kind: kind, Name: "x@p"})
		if !ok || origin != (dynamic.Origin{File: "f", Line: line + 1}) {
			t.Errorf("origin of %s = %v", kind, origin)
		}
	}
	if name := merged.TLS.Certificates[0].Name; name != "x@p" {
		t.Errorf("the certificate is called %q", name)
	}
	configurations["p"] = &dynamic.Configuration{}
	merged, changed = m.Merge(configurations, []string{"p"})
	if diff := cmp.Diff(want, changed); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	if _, ok := m.Origin(routerRef("x@p")); ok || len(merged.TLS.Certificates) != 0 || merged.UDP.Services.Len() != 0 {
		t.Errorf("something stayed: %+v", merged)
	}
}

func TestMergeRefuses(t *testing.T) {
	configuration := routers("a@b", "Host(`a`)", "", "Host(`b`)", "good", "Host(`c`)")
	configuration.HTTP.Routers = configuration.HTTP.Routers.With("nothing", nil)
	configuration.Origins = immutable.Of(map[dynamic.Ref]dynamic.Origin{routerRef("a@b"): {File: "f.yaml", Line: 3}})
	merged, _ := pipeline.NewMerger(nil).Merge(map[string]*dynamic.Configuration{"file": configuration}, []string{"file"})
	want := []string{
		"f.yaml:3: router a@b@file: a name may not contain @, which separates it from its provider's name",
		"router file: it has no name",
		"router nothing@file: it declares nothing",
	}
	if diff := cmp.Diff(want, lines(merged.Verdicts)); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
	if got := slices.Sorted(merged.HTTP.Routers.Keys()); !slices.Equal(got, []string{"good@file"}) {
		t.Errorf("routers = %v, want the good one alone", got)
	}
}

func lines(verdicts []dynamic.Verdict) []string {
	result := []string{}
	for _, verdict := range verdicts {
		result = append(result, verdict.String())
	}
	return result
}

// What is refused has its verdict in each merge, also when nothing about it has changed.
func TestMergeRefusesAgain(t *testing.T) {
	m := pipeline.NewMerger(nil)
	for i := range 3 {
		one := routers("good", fmt.Sprint(i))
		one.HTTP.Routers = one.HTTP.Routers.With("bad@name", &dynamic.Router{}).With("nothing", nil)
		merged, changed := m.Merge(map[string]*dynamic.Configuration{"file": one}, []string{"file"})
		if len(merged.Verdicts) != 2 || merged.HTTP.Routers.Len() != 1 {
			t.Errorf("merge %d: verdicts %v, routers %v", i, merged.Verdicts, merged.HTTP.Routers)
		}
		if i > 0 && len(changed) != 1 {
			t.Errorf("merge %d: changed %v, want the good router alone", i, names(changed))
		}
	}
}

func TestMergeProviderVerdicts(t *testing.T) {
	m := pipeline.NewMerger(nil)
	router := &dynamic.Router{Rule: "Host(`a`)"}
	declare := func(reason string) map[string]*dynamic.Configuration {
		one := &dynamic.Configuration{
			HTTP:    &dynamic.HTTPConfiguration{Routers: immutable.Of(map[string]*dynamic.Router{"a": router})},
			Origins: immutable.Of(map[dynamic.Ref]dynamic.Origin{routerRef("a"): {File: "f.yaml", Line: 2}}),
		}
		if reason != "" {
			one.Verdicts = []dynamic.Verdict{{
				Ref: routerRef("a"), Status: dynamic.Quarantined, Code: dynamic.CodeConflictingName, Reason: reason,
			}}
		}
		return map[string]*dynamic.Configuration{"file": one}
	}
	_, _ = m.Merge(declare(""), []string{"file"})
	merged, changed := m.Merge(declare("is declared twice"), []string{"file"})
	if diff := cmp.Diff([]string{`router "a@file"`}, names(changed)); diff != "" {
		t.Errorf("a new verdict is no change of its object (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"f.yaml:2: router a@file: is declared twice"}, lines(merged.Verdicts)); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
	if _, changed = m.Merge(declare("is declared twice"), []string{"file"}); len(changed) != 0 {
		t.Errorf("the same verdict changed %v", names(changed))
	}
	if merged, changed = m.Merge(declare(""), []string{"file"}); len(changed) != 1 || len(merged.Verdicts) != 0 {
		t.Errorf("after recovery: changed %v, verdicts %v", names(changed), merged.Verdicts)
	}
}

func TestMergeOriginAloneIsNoChange(t *testing.T) {
	m := pipeline.NewMerger(nil)
	one := routers("a", "Host(`a`)")
	at := func(line int) map[string]*dynamic.Configuration {
		return map[string]*dynamic.Configuration{"file": {
			HTTP:    one.HTTP,
			Origins: immutable.Of(map[dynamic.Ref]dynamic.Origin{routerRef("a"): {File: "f", Line: line}}),
		}}
	}
	before, _ := m.Merge(at(1), []string{"file"})
	after, changed := m.Merge(at(2), []string{"file"})
	if len(changed) != 0 || before != after {
		t.Errorf("changed = %v", names(changed))
	}
	if origin, _ := m.Origin(routerRef("a@file")); origin.Line != 2 {
		t.Errorf("line = %d, want 2", origin.Line)
	}
}

func TestMergeDefaultTLS(t *testing.T) {
	declare := func(version string) *dynamic.Configuration {
		return &dynamic.Configuration{TLS: &dynamic.TLSConfiguration{
			Options: immutable.Of(map[string]*dynamic.TLSOptions{"default": {MinVersion: version}, "mine": {}}),
			Stores:  immutable.Of(map[string]*dynamic.TLSStore{"default": {}}),
		}}
	}
	m := pipeline.NewMerger([]string{"Docker", "file"})
	configurations := map[string]*dynamic.Configuration{
		"file": declare("file"), "docker": declare("docker"),
		"zoo": declare("zoo"),
	}
	merged, _ := m.Merge(configurations, []string{"docker", "file", "zoo"})
	if got := merged.TLS.Options.Get("default").MinVersion; got != "docker" {
		t.Errorf("the default options are those of %s, want docker by precedence", got)
	}
	options := []string{"default", "mine@docker", "mine@file", "mine@zoo"}
	if got := slices.Sorted(merged.TLS.Options.Keys()); !slices.Equal(got, options) {
		t.Errorf("options = %v", got)
	}
	reason := `provider "docker" defines default already and comes first in providers.precedence`
	want := []string{
		"tlsOptions default@file: " + reason, "tlsOptions default@zoo: " + reason,
		"tlsStore default@file: " + reason, "tlsStore default@zoo: " + reason,
	}
	if diff := cmp.Diff(want, lines(merged.Verdicts)); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}

	configurations["docker"] = &dynamic.Configuration{}
	merged, changed := m.Merge(configurations, []string{"docker"})
	if got := merged.TLS.Options.Get("default").MinVersion; got != "file" {
		t.Errorf("the default options are those of %s, want file as the next one", got)
	}
	if _, ok := changed[dynamic.Ref{Kind: dynamic.KindTLSOptions, Name: "default"}]; !ok {
		t.Errorf("changed = %v, want the default options among them", names(changed))
	}

	configurations["file"], configurations["zoo"] = &dynamic.Configuration{}, &dynamic.Configuration{}
	merged, _ = m.Merge(configurations, []string{"file", "zoo"})
	if merged.TLS.Options.Len() != 0 || merged.TLS.Stores.Len() != 0 || len(merged.Verdicts) != 0 {
		t.Errorf("something stayed: %+v, %v", merged.TLS, merged.Verdicts)
	}
}

func TestMergeVerdictOnDefaultTLS(t *testing.T) {
	ref := dynamic.Ref{Kind: dynamic.KindTLSOptions, Name: "default"}
	declare := func(reason string) *dynamic.Configuration {
		return &dynamic.Configuration{
			TLS:      &dynamic.TLSConfiguration{Options: immutable.Of(map[string]*dynamic.TLSOptions{"default": {}})},
			Verdicts: []dynamic.Verdict{{Ref: ref, Status: dynamic.Quarantined, Reason: reason}},
		}
	}
	m := pipeline.NewMerger([]string{"a", "b"})
	merged, changed := m.Merge(map[string]*dynamic.Configuration{"a": declare("bad a"), "b": declare("bad b")},
		[]string{"a", "b"})
	if merged.Verdicts[0].Ref != ref || merged.Verdicts[0].Reason != "bad a" {
		t.Errorf("first verdict = %v, want that of the elected options under the name default", merged.Verdicts[0])
	}
	if _, ok := changed[ref]; !ok {
		t.Errorf("changed = %v", names(changed))
	}
}

func TestMergeCertificates(t *testing.T) {
	certificate := func(file, key string) *dynamic.CertificateEntry {
		return &dynamic.CertificateEntry{Certificate: dynamic.Certificate{CertFile: file, KeyFile: key}}
	}
	declare := func(entries ...*dynamic.CertificateEntry) *dynamic.Configuration {
		return &dynamic.Configuration{TLS: &dynamic.TLSConfiguration{Certificates: entries}}
	}
	got := func(merged *dynamic.Configuration) []string {
		var result []string
		for _, one := range merged.TLS.Certificates {
			result = append(result, one.Name+" "+one.KeyFile)
		}
		return result
	}
	m := pipeline.NewMerger([]string{"b"})
	configurations := map[string]*dynamic.Configuration{
		"a": declare(certificate("x.pem", "x"), certificate("-----BEGIN", "inline")),
		"b": declare(certificate("x.pem", "bx"), nil),
	}
	first, _ := m.Merge(configurations, []string{"a", "b"})
	if diff := cmp.Diff([]string{"x.pem@b bx", "x.pem@a x", "certificates[1]@a inline"}, got(first)); diff != "" {
		t.Errorf("certificates (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"certificate certificates[1]@b: it declares nothing"},
		lines(first.Verdicts)); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}

	configurations["a"] = declare(certificate("x.pem", "x"), certificate("-----BEGIN", "inline"))
	if second, changed := m.Merge(configurations, []string{"a"}); len(changed) != 0 || second != first {
		t.Errorf("equal certificates changed %v", names(changed))
	}

	configurations["a"] = declare(certificate("x.pem", "other"), certificate("-----BEGIN", "inline"))
	third, changed := m.Merge(configurations, []string{"a"})
	if diff := cmp.Diff([]string{`certificate "x.pem@a"`}, names(changed)); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	if third.TLS.Certificates[2] != first.TLS.Certificates[2] {
		t.Error("an unchanged certificate lost its pointer")
	}

	configurations["b"] = declare(certificate("y.pem", "y"), certificate("x.pem", "bx"))
	fourth, changed := m.Merge(configurations, []string{"b"})
	if diff := cmp.Diff([]string{`certificate "certificates[1]@b"`, `certificate "x.pem@b"`, `certificate "y.pem@b"`},
		names(changed)); diff != "" {
		t.Errorf("changed after a new first certificate (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"y.pem@b y", "x.pem@b bx", "x.pem@a other", "certificates[1]@a inline"},
		got(fourth)); diff != "" {
		t.Errorf("certificates (-want +got):\n%s", diff)
	}
}

// TestMergeOfEditsEqualsMergingAnew proves that after any edits the merge holds what it would come to by looking at all
// objects, and reports the same changes, also where it has not seen each configuration.
func TestMergeOfEditsEqualsMergingAnew(t *testing.T) {
	for seed := range uint64(30) {
		random := rand.New(rand.NewPCG(seed, 0))
		builder := dynamic.NewBuilder(&dynamic.Configuration{})
		edited, whole := pipeline.NewMerger(nil), pipeline.NewMerger(nil)
		for step := range 100 {
			for range random.IntN(4) {
				writeOne(random, builder)
			}
			next := builder.Configuration()
			if random.IntN(4) == 0 {
				continue // superseded before the merge has seen it
			}
			anew := dynamic.NewBuilder(&dynamic.Configuration{})
			for ref, object := range next.Objects() {
				anew.Put(ref, object)
			}
			got, gotChanged := edited.Merge(map[string]*dynamic.Configuration{"p": next}, []string{"p"})
			want, wantChanged := whole.Merge(map[string]*dynamic.Configuration{"p": anew.Configuration()}, []string{"p"})
			for _, diff := range []string{
				cmp.Diff(names(wantChanged), names(gotChanged)), cmp.Diff(lines(want.Verdicts), lines(got.Verdicts)),
				cmp.Diff(maps.Collect(want.Objects()), maps.Collect(got.Objects())),
			} {
				if diff != "" {
					t.Fatalf("seed %d, step %d (-anew +edited):\n%s", seed, step, diff)
				}
			}
		}
	}
}

// writeOne writes to one object: it adds, replaces or removes it, sometimes one that must be refused.
func writeOne(random *rand.Rand, builder *dynamic.Builder) {
	kinds := []dynamic.Kind{dynamic.KindRouter, dynamic.KindService, dynamic.KindTLSOptions}
	ref := dynamic.Ref{Kind: kinds[random.IntN(3)], Name: []string{"a", "b", "c", "default", "a@b"}[random.IntN(5)]}
	if ref.Name == "a@b" && random.IntN(3) > 0 {
		ref.Name = "d"
	}
	var object any
	switch ref.Kind {
	case dynamic.KindRouter:
		object = &dynamic.Router{Rule: strconv.Itoa(random.IntN(3))}
	case dynamic.KindService:
		object = &dynamic.Service{Failover: &dynamic.Failover{Service: strconv.Itoa(random.IntN(3))}}
	default:
		object = &dynamic.TLSOptions{
			MinVersion: strconv.Itoa(random.IntN(3)), EntryPoints: []string{"e", "f"}[:random.IntN(3)],
		}
	}
	switch random.IntN(8) {
	case 0, 1:
		builder.Delete(ref)
	case 2:
		builder.Put(ref, nil)
	default:
		builder.Put(ref, object)
	}
}

func BenchmarkMergeOneOfTenThousand(b *testing.B) {
	const count = 10_000
	declare := func(version int, previous *dynamic.Configuration) *dynamic.Configuration {
		var origins immutable.Map[dynamic.Ref, dynamic.Origin]
		builder, e := dynamic.NewBuilder(&dynamic.Configuration{}), new(immutable.Edit)
		for i := range count {
			name := fmt.Sprintf("router-%d", i)
			router, service := routerRef(name), dynamic.Ref{Kind: dynamic.KindService, Name: name}
			if previous != nil {
				builder.Put(router, previous.Object(router))
				builder.Put(service, previous.Object(service))
			} else {
				builder.Put(router, &dynamic.Router{Rule: fmt.Sprintf("Host(`%d.example`)", i), Service: name})
				builder.Put(service, &dynamic.Service{
					LoadBalancer: &dynamic.ServersLoadBalancer{Servers: []dynamic.Server{{URL: "http://192.0.2.1"}}},
				})
			}
			origins.Set(e, router, dynamic.Origin{File: "f", Line: i})
			origins.Set(e, service, dynamic.Origin{File: "f", Line: i})
		}
		builder.Put(routerRef("router-5000"), &dynamic.Router{Rule: fmt.Sprintf("Host(`version-%d.example`)", version)})
		next := builder.Configuration()
		next.Origins = origins
		return next
	}
	base := declare(0, nil)
	versions := []*dynamic.Configuration{base, declare(1, base)}
	m := pipeline.NewMerger(nil)
	configurations := map[string]*dynamic.Configuration{"file": base, "other": routers("a", "Host(`a`)")}
	m.Merge(configurations, []string{"file", "other"})
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		configurations["file"] = versions[i%2]
		if _, changed := m.Merge(configurations, []string{"file"}); len(changed) != 1 {
			b.Fatalf("changed %d objects, want 1", len(changed))
		}
	}
}

// BenchmarkDedup compares an equal service of another pointer, as a source that does not remember its objects sends it.
func BenchmarkDedup(b *testing.B) {
	declare := func() *dynamic.Service {
		balancer := &dynamic.ServersLoadBalancer{}
		balancer.SetDefaults()
		balancer.Servers = []dynamic.Server{{URL: "http://192.0.2.1"}, {URL: "http://192.0.2.2"}}
		return &dynamic.Service{LoadBalancer: balancer}
	}
	merged := declare()
	b.ReportAllocs()
	for b.Loop() {
		if !pipeline.Same(dynamic.Ref{Kind: dynamic.KindService, Name: "x"}, merged, declare()) {
			b.Fatal("an equal service counts as changed")
		}
	}
}
