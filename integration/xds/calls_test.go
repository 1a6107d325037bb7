package xds

import (
	"testing"
	"time"
)

// rollouts is how often every Deployment is rolled.
const rollouts = 3

// away is how long the publisher is away.
func away() time.Duration {
	if all() {
		return time.Minute
	}
	return 5 * time.Second
}

// TestCalls calls two Services with every client while things happen to the cluster.
func TestCalls(t *testing.T) {
	f := open(t)
	t.Run("pods are rolled", func(t *testing.T) { podsAreRolled(f.on(t)) })
	t.Run("pods come and go", func(t *testing.T) { podsComeAndGo(f.on(t)) })
	t.Run("an endpoint without a process", func(t *testing.T) { endpointWithoutProcess(f.on(t)) })
	t.Run("a namespace is deleted", func(t *testing.T) { namespaceIsDeleted(f.on(t)) })
	t.Run("broken resources", func(t *testing.T) { brokenResources(f.on(t)) })
	t.Run("the publisher is away", func(t *testing.T) { publisherIsAway(t, f) })
	t.Run("the publisher is killed", func(t *testing.T) { publisherIsKilled(t, f) })
	t.Run("grpc-js is among the clients", func(t *testing.T) {
		if f.missing != "" {
			t.Skip(f.missing)
		}
	})
}

// podsAreRolled rolls both Deployments at the same time, repeatedly.
func podsAreRolled(f *field) {
	f.during(func() {
		for range rollouts {
			f.roll()
		}
		f.settled(2 * crew)
	})
}

// podsComeAndGo scales a Deployment from one pod to ten and back.
func podsComeAndGo(f *field) {
	f.during(func() {
		for _, count := range []int{1, 10, 1, crew} {
			f.c.Scale("shop/polite", count)
			f.c.Endpoints("shop/polite", count)
			for _, one := range f.clients {
				f.spread(one, "polite.shop", count)
			}
		}
		f.settled(2 * crew)
	})
}

// endpointWithoutProcess adds an endpoint where nothing listens to both Services.
func endpointWithoutProcess(f *field) {
	const slice = `
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: polite-nothing, namespace: shop, labels: {kubernetes.io/service-name: polite}}
addressType: IPv4
ports: [{name: grpc, port: 8080}]
endpoints: [{addresses: [198.18.0.99], conditions: {ready: true}}]
`
	f.during(func() {
		f.c.Apply(slice)
		f.publishes("198.18.0.99", true)
		for _, one := range f.clients {
			f.spread(one, "polite.shop", crew)
		}
		f.c.Delete(slice)
		f.publishes("198.18.0.99", false)
	})
}

// publisherIsAway stops the publisher for a while and starts another one. Calls go on; what changes then arrives.
func publisherIsAway(t *testing.T, f *field) {
	own := f.on(t)
	own.during(func() {
		over := time.NewTimer(away())
		defer over.Stop()
		f.publisher.Stop()
		select {
		case <-over.C:
		case <-t.Context().Done():
		}
		f.publisher = publish(f.t, f.c, files())
		own.publisher = f.publisher
		back := time.Now()
		own.c.Scale("shop/polite", crew+1)
		for _, one := range f.clients {
			own.spread(one, "polite.shop", crew+1)
			if balances(one) {
				t.Logf("%s: follows changes at the latest %v after the restart", one, time.Since(back).Round(time.Millisecond))
			}
		}
		own.c.Scale("shop/polite", crew)
		own.settled(2 * crew)
	})
}
