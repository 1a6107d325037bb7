package gateway

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/pipeline"
	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway/status"
	"github.com/sluiceproxy/sluice/router"
	"github.com/sluiceproxy/sluice/telemetry"
)

// serving is a table that follows a provider, without sockets.
type serving struct {
	*Provider
	line     *pipeline.Pipeline
	table    *router.ActiveTable
	messages chan<- dynamic.Message
}

// serve has a table follow a provider.
func serve(t *testing.T, p *Provider) *serving {
	t.Helper()
	messages := make(channel)
	s := &serving{Provider: p, table: router.NewActiveTable(nil), messages: messages}
	registry := loadbalancer.NewRegistry(loadbalancer.Options{})
	transport := &dynamic.ServersTransport{}
	transport.SetDefaults()
	s.line = pipeline.New(pipeline.Options{
		Source: provider.NewHub([]provider.Entry{{Name: Name, Provider: messages}}, telemetry.Discard{}),
		Compiler: router.NewCompiler(router.Options{
			Registry: registry, Transport: transport, Tickets: certificate.NewTickets(),
		}, s.table),
		Endpoints: registry, Logger: telemetry.Discard{}, MaxHold: time.Nanosecond,
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.line.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

// follow translates what has changed, makes it active with the statuses that follow, and returns the configuration.
func (s *serving) follow(t *testing.T) *dynamic.Configuration {
	t.Helper()
	configuration, changed := s.update()
	if changed {
		message := dynamic.Message{Configuration: configuration}
		for _, service := range configuration.HTTP.Services.All() {
			if service.LoadBalancer != nil && service.LoadBalancer.EndpointSet != "" {
				message.Endpoints = append(message.Endpoints, dynamic.EndpointSet{Key: service.LoadBalancer.EndpointSet})
			}
		}
		before := s.line.State()
		s.messages <- message
		timeout := time.NewTimer(time.Minute)
		defer timeout.Stop()
		for state := before; state.Generation == before.Generation; state = s.line.State() {
			select {
			case <-state.Changed:
			case <-timeout.C:
				t.Fatal("a changed configuration is not active within a minute")
			}
		}
	}
	state := s.line.State()
	s.Activated(state.Included[Name], state.Active)
	s.update()
	return configuration
}

// answer returns the service that answers a request at a listener, or the reason why none does.
func (s *serving) answer(t *testing.T, listener, url string) string {
	t.Helper()
	answer, err := s.table.Table().Explain(router.Question{Method: "GET", URL: url, EntryPoint: listener + "@" + Name})
	if err != nil {
		return err.Error()
	}
	if answer.Router == nil {
		return answer.Reason
	}
	name, _ := cutProvider(answer.Router.Name)
	declared, found := s.line.State().Included[Name].HTTP.Routers.Find(name)
	if !found {
		t.Fatalf("%s: router %s is not declared", url, name)
	}
	return declared.Service
}

// conditions returns those of a listener of a Gateway or ListenerSet; of the object itself for no section.
func (s *serving) conditions(kind status.Kind, namespace, name, section string) string {
	of := types.NamespacedName{Namespace: namespace, Name: name}
	desired := s.statuses.desired[status.Key{Kind: kind, NamespacedName: of}]
	if desired == nil {
		return "none"
	}
	var listeners []gatewayv1.ListenerStatus
	if desired.Gateway != nil {
		listeners = desired.Gateway.Listeners
		if section == "" {
			return conditionText(desired.Gateway.Conditions)
		}
	}
	if desired.ListenerSet != nil {
		if section == "" {
			return conditionText(desired.ListenerSet.Conditions)
		}
		for _, entry := range desired.ListenerSet.Listeners {
			listeners = append(listeners, gatewayv1.ListenerStatus(entry))
		}
	}
	for i := range listeners {
		if string(listeners[i].Name) == section {
			return conditionText(listeners[i].Conditions)
		}
	}
	text := ""
	for i := range desired.Parents {
		text += conditionText(desired.Parents[i].Conditions)
	}
	return text
}
