package main

import (
	"errors"
	"testing"

	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/static"
)

// TestReserved has no connection opened to what is served on loopback addresses without authentication.
func TestReserved(t *testing.T) {
	entryPoint := func(change func(*static.EntryPoint)) map[string]*static.EntryPoint {
		one := defaultEntryPoint()
		one.Address = "127.0.0.1:1"
		change(one)
		return map[string]*static.EntryPoint{"web": one}
	}
	plain := entryPoint(func(*static.EntryPoint) {})
	xds := func(change func(*static.XDS)) *static.Configuration {
		one := &static.XDS{Address: "127.0.0.1:1"}
		change(one)
		return &static.Configuration{XDS: one}
	}
	certificates, tokens := &static.XDSTLS{CAFiles: []string{"ca"}}, &static.XDSTokenReview{}
	for name, test := range map[string]struct {
		config       *static.Configuration
		refused, udp bool
	}{
		"an entrypoint":  {config: &static.Configuration{EntryPoints: plain}},
		"with api":       {config: &static.Configuration{EntryPoints: plain, API: &static.API{}}},
		"with api.admin": {config: &static.Configuration{EntryPoints: plain, API: &static.API{Admin: true}}, refused: true},
		"a UDP entrypoint": {config: &static.Configuration{
			EntryPoints: entryPoint(func(e *static.EntryPoint) { e.Address += "/udp" }), API: &static.API{Admin: true},
		}},
		"HTTP/3": {config: &static.Configuration{
			EntryPoints: entryPoint(func(e *static.EntryPoint) { e.HTTP3 = &static.HTTP3{} }), API: &static.API{Admin: true},
		}, refused: true, udp: true},
		"a forward proxy": {config: &static.Configuration{
			EntryPoints: entryPoint(func(e *static.EntryPoint) { e.ForwardProxy = &static.ForwardProxy{} }),
		}, refused: true},
		"xDS":                   {config: xds(func(*static.XDS) {}), refused: true},
		"xDS that allows it":    {config: xds(func(x *static.XDS) { x.AllowInsecure = true }), refused: true},
		"xDS with TLS":          {config: xds(func(x *static.XDS) { x.TLS = &static.XDSTLS{} }), refused: true},
		"xDS with plain tokens": {config: xds(func(x *static.XDS) { x.TokenReview = tokens }), refused: true},
		"xDS with tokens":       {config: xds(func(x *static.XDS) { x.TLS, x.TokenReview = &static.XDSTLS{}, tokens })},
		"xDS with certificates": {config: xds(func(x *static.XDS) { x.TLS = certificates })},
		"xDS elsewhere":         {config: xds(func(x *static.XDS) { x.Address = ":1" })},
		"the inspector": {config: &static.Configuration{
			Inspector: &static.Inspector{Address: "127.0.0.1:1"},
		}, refused: true},
		"the injector": {config: &static.Configuration{
			Injector: &static.Injector{Address: "127.0.0.1:1"},
		}, refused: true},
		"the injector's status": {config: &static.Configuration{
			Injector: &static.Injector{StatusAddress: "127.0.0.1:1"},
		}, refused: true},
		"the injector everywhere": {config: &static.Configuration{Injector: &static.Injector{Address: ":1"}}},
	} {
		s := &system{config: test.config, connections: entrypoint.NewDirectory()}
		s.reserveConfigured()
		for network, want := range map[string]bool{"tcp": test.refused, "udp": test.udp} {
			if err := s.connections.Control(network, "127.0.0.1:1", nil); errors.Is(err, entrypoint.ErrOwnAddress) != want {
				t.Errorf("%s: %s: error %v, refused %v", name, network, err, want)
			}
		}
	}
}

// TestReservedWhenBound has the port of xDS refused that the system has chosen.
func TestReservedWhenBound(t *testing.T) {
	config := &static.Configuration{XDS: &static.XDS{}}
	config.XDS.SetDefaults()
	config.XDS.Address = "127.0.0.1:0"
	s, err := newSystem(static.Loaded{Configuration: config}, &inputs{}, silent{}, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.publish(t.Context()); err != nil {
		t.Fatal(err)
	}
	listener := s.auxiliaries.all()[0]
	defer func() { _ = listener.Close() }()
	if err := s.connections.Control("tcp", listener.Addr().String(), nil); !errors.Is(err, entrypoint.ErrOwnAddress) {
		t.Errorf("error %v", err)
	}
}
