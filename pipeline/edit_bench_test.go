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
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/telemetry"
)

// BenchmarkEdit edits one router among many, each with a service of its own, from the provider's message until the new
// table is active.
func BenchmarkEdit(b *testing.B) {
	for _, count := range []int{1000, 5000, 20000} {
		b.Run(fmt.Sprintf("routers=%d", count), func(b *testing.B) {
			builder := dynamic.NewBuilder(&dynamic.Configuration{})
			for i := range count {
				put(builder, i, "/")
			}
			p, messages := benchPipeline(b)
			apply(b, p, messages, builder.Configuration())
			b.ReportAllocs()
			edit := 0
			for b.Loop() {
				edit++
				put(builder, 77, fmt.Sprintf("/v%d", edit))
				apply(b, p, messages, builder.Configuration())
			}
		})
	}
}

// put declares the router of a number, and with the first path its service.
func put(builder *dynamic.Builder, i int, path string) {
	name := fmt.Sprintf("r%d", i)
	builder.Put(dynamic.Ref{Kind: dynamic.KindRouter, Name: name}, &dynamic.Router{
		Rule: fmt.Sprintf("Host(`h%d.test`) && PathPrefix(`%s`)", i, path), Service: name,
	})
	if path != "/" {
		return
	}
	balancer := &dynamic.ServersLoadBalancer{}
	balancer.SetDefaults()
	balancer.EndpointSet = "sets/" + name
	builder.Put(dynamic.Ref{Kind: dynamic.KindService, Name: name}, &dynamic.Service{LoadBalancer: balancer})
}

// apply sends a configuration and waits for its table.
func apply(b *testing.B, p *pipeline.Pipeline, messages chan<- dynamic.Message, configuration *dynamic.Configuration) {
	b.Helper()
	before := p.State()
	messages <- dynamic.Message{Configuration: configuration}
	for state := before; state.Generation == before.Generation; state = p.State() {
		<-state.News
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
		}, router.NewSwitch(entrypoints)),
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
