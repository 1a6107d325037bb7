package dynamic_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
)

// samples holds an object of each kind.
func samples() map[dynamic.Kind]any {
	return map[dynamic.Kind]any{
		dynamic.KindRouter: &dynamic.Router{}, dynamic.KindService: &dynamic.Service{},
		dynamic.KindMiddleware:       &dynamic.Middleware{},
		dynamic.KindServersTransport: &dynamic.ServersTransport{}, dynamic.KindTLSOptions: &dynamic.TLSOptions{},
		dynamic.KindTLSStore: &dynamic.TLSStore{}, dynamic.KindTCPRouter: &dynamic.TCPRouter{},
		dynamic.KindTCPService: &dynamic.TCPService{}, dynamic.KindTCPMiddleware: &dynamic.TCPMiddleware{},
		dynamic.KindTCPServersTransport: &dynamic.TCPServersTransport{}, dynamic.KindUDPRouter: &dynamic.UDPRouter{},
		dynamic.KindUDPService: &dynamic.UDPService{},
	}
}

func TestBuilderKeepsEachKindApart(t *testing.T) {
	builder := dynamic.NewBuilder(&dynamic.Configuration{})
	for kind, object := range samples() {
		builder.Put(dynamic.Ref{Kind: kind, Name: "a"}, object)
	}
	built := builder.Configuration()
	for kind, object := range samples() {
		if diff := cmp.Diff(object, built.Object(dynamic.Ref{Kind: kind, Name: "a"})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
	count := 0
	for ref, object := range built.Objects() {
		if count++; ref.Name != "a" || object != built.Object(ref) {
			t.Errorf("%s is among the objects", ref)
		}
	}
	if count != len(samples()) {
		t.Errorf("%d objects, want %d", count, len(samples()))
	}
}

func TestBuilderNeverWritesToWhatItReturned(t *testing.T) {
	one, two := &dynamic.Router{Rule: "1"}, &dynamic.Router{Rule: "2"}
	a, b := dynamic.Ref{Kind: dynamic.KindRouter, Name: "a"}, dynamic.Ref{Kind: dynamic.KindRouter, Name: "b"}
	began := &dynamic.Configuration{
		HTTP: &dynamic.HTTPConfiguration{Routers: immutable.Of(map[string]*dynamic.Router{"a": one})},
	}
	builder := dynamic.NewBuilder(began)
	builder.Put(b, two)
	first := builder.Configuration()
	builder.Put(a, two)
	builder.Delete(b)
	second := builder.Configuration()
	var got []map[string]*dynamic.Router
	for _, one := range []*dynamic.Configuration{began, first, second} {
		got = append(got, maps.Collect(one.HTTP.Routers.All()))
	}
	want := []map[string]*dynamic.Router{{"a": one}, {"a": one, "b": two}, {"a": two}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("routers (-want +got):\n%s", diff)
	}
}

func TestChangedYieldsWhatWasWritten(t *testing.T) {
	builder := dynamic.NewBuilder(&dynamic.Configuration{})
	for kind, object := range samples() {
		builder.Put(dynamic.Ref{Kind: kind, Name: "a"}, object)
	}
	builder.Put(dynamic.Ref{Kind: dynamic.KindTLSStore, Name: "empty"}, nil)
	before := builder.Configuration()
	builder.Put(dynamic.Ref{Kind: dynamic.KindService, Name: "b"}, &dynamic.Service{})
	builder.Put(dynamic.Ref{Kind: dynamic.KindMiddleware, Name: "b"}, nil)
	builder.Delete(dynamic.Ref{Kind: dynamic.KindTLSOptions, Name: "a"})
	builder.Delete(dynamic.Ref{Kind: dynamic.KindTLSStore, Name: "empty"})
	builder.Delete(dynamic.Ref{Kind: dynamic.KindRouter, Name: "nothing"})
	after := builder.Configuration()
	want := []dynamic.Ref{
		{Kind: dynamic.KindService, Name: "b"},
		{Kind: dynamic.KindMiddleware, Name: "b"},
		{Kind: dynamic.KindTLSOptions, Name: "a"},
		{Kind: dynamic.KindTLSStore, Name: "empty"},
	}
	if changed := slices.Collect(after.Changed(before)); !slices.Equal(changed, want) {
		t.Errorf("%v changed, want %v", changed, want)
	}
}

func TestObjectFindsNothing(t *testing.T) {
	empty := &dynamic.Configuration{
		HTTP: &dynamic.HTTPConfiguration{Routers: immutable.Of(map[string]*dynamic.Router{"nil": nil})},
	}
	for _, ref := range []dynamic.Ref{
		{Kind: dynamic.KindRouter, Name: "nil"},
		{Kind: dynamic.KindService, Name: "a"},
		{Kind: dynamic.KindCertificate, Name: "a"},
		{Kind: dynamic.KindSource, Name: "a"},
	} {
		if found := empty.Object(ref); found != nil {
			t.Errorf("%s is %v", ref, found)
		}
	}
}
