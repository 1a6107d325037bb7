package gateway

import (
	"context"
	"fmt"
	"testing"
	"time"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// BenchmarkEdit edits a route among 16 of each of many ListenerSets, from the translation until the table is active and
// the statuses follow it.
func BenchmarkEdit(b *testing.B) {
	for _, sets := range []int{100, 2500} {
		b.Run(fmt.Sprintf("sets=%d", sets), func(b *testing.B) { benchEdit(b, sets) })
	}
}

const benchGateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: sets, namespace: bench, uid: g}
spec:
  gatewayClassName: sluice
  allowedListeners: {namespaces: {from: All}}
  listeners: [{name: http, port: 80, protocol: HTTP}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: sluice}
spec: {controllerName: sluice.dev/gateway-controller}
`

// benchNamespace returns the namespace of a ListenerSet.
func benchNamespace(set int) string { return fmt.Sprintf("bench-%d", set%50) }

func benchRoute(set, n int, host string, generation int64) *gatewayv1.HTTPRoute {
	kind, port := gatewayv1.Kind(kindListenerSet), gatewayv1.PortNumber(80)
	r := &gatewayv1.HTTPRoute{}
	r.Name, r.Namespace, r.Generation = fmt.Sprintf("r-%d-%d", set, n), benchNamespace(set), generation
	r.Spec.ParentRefs = []gatewayv1.ParentReference{{Kind: &kind, Name: gatewayv1.ObjectName(fmt.Sprintf("s-%d", set))}}
	r.Spec.Hostnames = []gatewayv1.Hostname{gatewayv1.Hostname(fmt.Sprintf("%s.s-%d.test", host, set))}
	ref := gatewayv1.HTTPBackendRef{}
	ref.Name, ref.Port = "web", &port
	r.Spec.Rules = []gatewayv1.HTTPRouteRule{{BackendRefs: []gatewayv1.HTTPBackendRef{ref}}}
	return r
}

func benchEdit(b *testing.B, sets int) {
	c := newCluster()
	c.apply(b, []byte(benchGateway))
	for i := range 50 {
		c.apply(b, fmt.Appendf(nil, "{apiVersion: v1, kind: Service, metadata: {name: web, namespace: %s}, "+
			"spec: {ports: [{name: http, port: 80}]}}", benchNamespace(i)))
	}
	for i := range sets {
		hostname := gatewayv1.Hostname(fmt.Sprintf("*.s-%d.test", i))
		set := &gatewayv1.ListenerSet{}
		set.Name, set.Namespace = fmt.Sprintf("s-%d", i), benchNamespace(i)
		home := gatewayv1.Namespace("bench")
		set.Spec.ParentRef.Name, set.Spec.ParentRef.Namespace = "sets", &home
		set.Spec.Listeners = []gatewayv1.ListenerEntry{{Name: "http", Port: 80, Protocol: "HTTP", Hostname: &hostname}}
		c.listenerSets.put(set)
		for n := range 16 {
			c.httpRoutes.put(benchRoute(i, n, fmt.Sprintf("h%d", n), 1))
		}
	}
	p := c.provider(static.KubernetesGateway{})
	out, messages := benchPipeline(b)
	step := func() {
		configuration, _ := p.update()
		before := out.State()
		messages <- dynamic.Message{Configuration: configuration}
		for state := before; state.Generation == before.Generation; state = out.State() {
			<-state.Changed
		}
		state := out.State()
		p.Activated(state.Included[Name], state.Active)
	}
	began := time.Now()
	step()
	p.update()
	b.Logf("start %v", time.Since(began))
	generation := int64(1)
	b.ReportAllocs()
	for b.Loop() {
		generation++
		c.httpRoutes.put(benchRoute(sets/2, 3, fmt.Sprintf("e%d", generation), generation))
		step()
	}
}

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

func benchPipeline(b *testing.B) (*pipeline.Pipeline, chan<- dynamic.Message) {
	b.Helper()
	messages := make(channel)
	registry := loadbalancer.NewRegistry(loadbalancer.Options{})
	for i := range 50 {
		registry.Apply(dynamic.EndpointSet{Key: "kubernetes/" + benchNamespace(i) + "/web/http"})
	}
	transport := &dynamic.ServersTransport{}
	transport.SetDefaults()
	p := pipeline.New(pipeline.Options{
		Source: provider.NewHub([]provider.Entry{{Name: Name, Provider: messages}}, telemetry.Discard{}),
		Compiler: router.NewCompiler(router.Options{
			Registry: registry, Transport: transport, Tickets: certificate.NewTickets(),
		}, router.NewActiveTable(nil)),
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
