package pipeline_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/telemetry"
)

// BenchmarkEdit edits one object among many, each with a router and a service of its own, from the translation of the
// object until the new table is active.
func BenchmarkEdit(b *testing.B) {
	for _, count := range []int{1000, 5000, 20000} {
		b.Run(fmt.Sprintf("routers=%d", count), func(b *testing.B) { benchEdit(b, count, nil) })
		b.Run(fmt.Sprintf("tls=%d", count), func(b *testing.B) { benchEdit(b, count, &dynamic.RouterTLS{}) })
	}
}

func benchEdit(b *testing.B, count int, tls *dynamic.RouterTLS) {
	memory := translation.New("crd", []string{"IngressRoute"}, nil)
	for i := range count {
		memory.Touch(translation.Source{Kind: "IngressRoute", Name: fmt.Sprintf("r%d", i)})
	}
	edit := int64(0)
	translated := func() *dynamic.Configuration {
		configuration, _ := memory.Update(func(source translation.Source) (translation.Result, bool) {
			return translate(source.Name, edit, tls), true
		})
		return configuration
	}
	p, messages := benchPipeline(b)
	apply(b, p, messages, translated())
	b.ReportAllocs()
	for b.Loop() {
		edit++
		memory.Touch(translation.Source{Kind: "IngressRoute", Name: "r77"})
		apply(b, p, messages, translated())
	}
}

// translate returns a router, which differs with each edit, and its service.
func translate(name string, edit int64, tls *dynamic.RouterTLS) translation.Result {
	result := translation.Result{Origin: dynamic.Origin{
		Object: "IngressRoute default/" + name, Resource: &dynamic.Resource{Name: name, UID: name, Generation: edit},
	}}
	result.Put(dynamic.Ref{Kind: dynamic.KindRouter, Name: name}, &dynamic.Router{
		Rule: fmt.Sprintf("Host(`%s.test`) && PathPrefix(`/v%d`)", name, edit), Service: name, TLS: tls,
	})
	balancer := &dynamic.ServersLoadBalancer{}
	balancer.SetDefaults()
	balancer.EndpointSet = "sets/" + name
	result.Put(dynamic.Ref{Kind: dynamic.KindService, Name: name}, &dynamic.Service{LoadBalancer: balancer})
	return result
}

// apply sends a configuration and waits for its table.
func apply(b *testing.B, p *pipeline.Pipeline, messages chan<- dynamic.Message, configuration *dynamic.Configuration) {
	b.Helper()
	before := p.State()
	messages <- dynamic.Message{Configuration: configuration}
	for state := before; state.Generation == before.Generation; state = p.State() {
		<-state.Changed
	}
}

// channel is a provider that passes messages on.
type channel chan dynamic.Message

func (c channel) Provide(ctx context.Context, messages chan<- dynamic.Message) error {
	for {
		select {
		case message := <-c:
			messages <- message
		case <-ctx.Done():
			return nil
		}
	}
}

// benchPipeline runs a pipeline that does not hold changes back and whose endpoint sets are never waited for twice.
func benchPipeline(b *testing.B) (*pipeline.Pipeline, chan<- dynamic.Message) {
	b.Helper()
	messages := make(channel)
	entrypoints := []router.EntryPoint{{Name: "web", Default: true}}
	registry := loadbalancer.NewRegistry(loadbalancer.Options{})
	transport := &dynamic.ServersTransport{}
	transport.SetDefaults()
	p := pipeline.New(pipeline.Options{
		Source: provider.NewHub([]provider.Entry{{Name: "crd", Provider: messages, Required: true}}, telemetry.Discard{}),
		Compiler: router.NewCompiler(router.Options{
			EntryPoints: entrypoints, Registry: registry, Transport: transport, Tickets: certificate.NewTickets(),
		}, router.NewActiveTable(entrypoints)),
		Endpoints: registry, Logger: telemetry.Discard{}, MaxHold: time.Nanosecond,
	})
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
	})
	return p, messages
}
