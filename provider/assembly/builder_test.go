package assembly_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/assembly"
)

// samples holds an object of each kind.
func samples() map[dynamic.Kind]any {
	return map[dynamic.Kind]any{
		dynamic.KindRouter: &dynamic.Router{}, dynamic.KindService: &dynamic.Service{}, dynamic.KindMiddleware: &dynamic.Middleware{},
		dynamic.KindServersTransport: &dynamic.ServersTransport{}, dynamic.KindTLSOptions: &dynamic.TLSOptions{},
		dynamic.KindTLSStore: &dynamic.TLSStore{}, dynamic.KindTCPRouter: &dynamic.Unsupported{},
		dynamic.KindTCPService: &dynamic.Unsupported{}, dynamic.KindTCPMiddleware: &dynamic.Unsupported{},
		dynamic.KindTCPServersTransport: &dynamic.Unsupported{}, dynamic.KindUDPRouter: &dynamic.Unsupported{},
		dynamic.KindUDPService: &dynamic.Unsupported{},
	}
}

func TestBuilderKeepsEachKindApart(t *testing.T) {
	builder := assembly.NewBuilder(&dynamic.Configuration{})
	for kind, object := range samples() {
		builder.Put(dynamic.Ref{Kind: kind, Name: "a"}, object)
	}
	built := builder.Configuration()
	for kind, object := range samples() {
		if diff := cmp.Diff(object, assembly.Get(built, dynamic.Ref{Kind: kind, Name: "a"})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
	count := 0
	for _, kind := range assembly.Kinds() {
		for name, object := range kind.All(built) {
			if count++; name != "a" || object != kind.Get(built, "a") {
				t.Errorf("%s yields %q", kind.Name(), name)
			}
		}
	}
	if count != len(samples()) {
		t.Errorf("%d objects, want %d", count, len(samples()))
	}
}

func TestBuilderNeverWritesToWhatItReturned(t *testing.T) {
	one, two := &dynamic.Router{Rule: "1"}, &dynamic.Router{Rule: "2"}
	a, b := dynamic.Ref{Kind: dynamic.KindRouter, Name: "a"}, dynamic.Ref{Kind: dynamic.KindRouter, Name: "b"}
	began := &dynamic.Configuration{HTTP: &dynamic.HTTPConfiguration{Routers: map[string]*dynamic.Router{"a": one}}}
	builder := assembly.NewBuilder(began)
	builder.Put(b, two)
	first := builder.Configuration()
	builder.Put(a, two)
	builder.Delete(b)
	second := builder.Configuration()
	got := []map[string]*dynamic.Router{began.HTTP.Routers, first.HTTP.Routers, second.HTTP.Routers}
	want := []map[string]*dynamic.Router{{"a": one}, {"a": one, "b": two}, {"a": two}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("routers (-want +got):\n%s", diff)
	}
}

// TestUnchangedMapsAreShared proves what makes a walk of the next configuration cheap.
func TestUnchangedMapsAreShared(t *testing.T) {
	builder := assembly.NewBuilder(&dynamic.Configuration{})
	for kind, object := range samples() {
		builder.Put(dynamic.Ref{Kind: kind, Name: "a"}, object)
	}
	before := builder.Configuration()
	builder.Put(dynamic.Ref{Kind: dynamic.KindService, Name: "b"}, &dynamic.Service{})
	builder.Delete(dynamic.Ref{Kind: dynamic.KindRouter, Name: "nothing"})
	after := builder.Configuration()
	for _, kind := range assembly.Kinds() {
		if shared := kind.Same(before, after); shared == (kind.Name() == dynamic.KindService) {
			t.Errorf("%s is shared: %t", kind.Name(), shared)
		}
	}
}

func TestRevisionsNameWhatWasWritten(t *testing.T) {
	a, b := dynamic.Ref{Kind: dynamic.KindRouter, Name: "a"}, dynamic.Ref{Kind: dynamic.KindService, Name: "b"}
	builder := assembly.NewBuilder(&dynamic.Configuration{})
	builder.Put(b, &dynamic.Service{})
	first := builder.Configuration()
	builder.Put(a, &dynamic.Router{})
	second := builder.Configuration()
	builder.Delete(b)
	third := builder.Configuration()
	builder.Put(a, nil) // a reader of a map takes it for one that is not there
	unknown := builder.Configuration()
	for name, test := range map[string]struct {
		before, after *dynamic.Configuration
		written       []dynamic.Ref
		ok            bool
	}{
		"nothing":         {third, third, nil, true},
		"one step":        {first, second, []dynamic.Ref{a}, true},
		"two steps":       {first, third, []dynamic.Ref{a, b}, true},
		"back":            {second, first, nil, false},
		"an empty object": {third, unknown, nil, false},
		"another builder": {first, assembly.NewBuilder(third).Configuration(), nil, false},
		"no revision":     {&dynamic.Configuration{}, third, nil, false},
		"none any more":   {first, &dynamic.Configuration{}, nil, false},
	} {
		written, ok := test.after.Revision.Since(test.before.Revision)
		if diff := cmp.Diff(test.written, written); ok != test.ok || diff != "" {
			t.Errorf("%s: %t, written (-want +got):\n%s", name, ok, diff)
		}
	}
}

func TestGetFindsNothing(t *testing.T) {
	empty := &dynamic.Configuration{HTTP: &dynamic.HTTPConfiguration{Routers: map[string]*dynamic.Router{"nil": nil}}}
	for _, ref := range []dynamic.Ref{
		{Kind: dynamic.KindRouter, Name: "nil"},
		{Kind: dynamic.KindService, Name: "a"},
		{Kind: dynamic.KindCertificate, Name: "a"},
		{Kind: dynamic.KindSource, Name: "a"},
	} {
		if found := assembly.Get(empty, ref); found != nil {
			t.Errorf("%s is %v", ref, found)
		}
	}
}
