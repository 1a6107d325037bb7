package ingress

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/providertest"
	"github.com/sluiceproxy/sluice/static"
)

const twoIngresses = `
apiVersion: v1
kind: Service
metadata: {namespace: shop, name: web}
spec: {ports: [{port: 80}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {namespace: shop, name: one}
spec: {rules: [{host: one.example.com, http: {paths: [{path: /, pathType: Prefix,
  backend: {service: {name: web, port: {number: 80}}}}]}}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {namespace: shop, name: two}
spec: {rules: [{host: two.example.com, http: {paths: [{path: /, pathType: Prefix,
  backend: {service: {name: web, port: {number: 80}}}}]}}]}
`

const otherTwo = `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {namespace: shop, name: two}
spec: {rules: [{host: two.example.com, http: {paths: [{path: /, pathType: Exact,
  backend: {service: {name: web, port: {number: 80}}}}]}}]}
`

// broken is an Ingress beside those of twoIngresses that leads nowhere.
const broken = `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: broken, namespace: shop}
spec:
  rules:
  - host: broken.example
    http: {paths: [{path: "relative", pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
`

func TestProviderContract(t *testing.T) {
	providertest.Run(t, func(t *testing.T) providertest.Subject {
		t.Helper()
		cluster := newCluster()
		cluster.apply(t, []byte(twoIngresses))
		return providertest.Subject{
			Provider: cluster.provider(static.KubernetesIngress{}),
			Change: func(t *testing.T) {
				t.Helper()
				cluster.apply(t, []byte(otherTwo))
			},
			Break: func(t *testing.T) {
				t.Helper()
				cluster.apply(t, []byte(broken))
			},
		}
	})
}

// started runs a provider in a bubble. Its messages come with the time at which they were sent.
func started(t *testing.T, p *Provider) <-chan dynamic.Message {
	t.Helper()
	messages := make(chan dynamic.Message)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Provide(ctx, messages) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Provide returned %v", err)
		}
	})
	return messages
}

// quiet checks that a provider has nothing to say.
func quiet(t *testing.T, messages <-chan dynamic.Message) {
	t.Helper()
	synctest.Wait()
	select {
	case m := <-messages:
		t.Errorf("a message has come: %+v", m)
	default:
	}
}

func TestProvideWaitsForEveryWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newCluster()
		cluster.secrets.SetStatus(dynamic.StatePending, "")
		p := cluster.provider(static.KubernetesIngress{})
		messages := started(t, p)
		cluster.apply(t, []byte(twoIngresses))
		p.statusChanged()
		quiet(t, messages)

		cluster.secrets.SetStatus(dynamic.StatePending, "cannot reach the API server")
		p.statusChanged()
		if m := <-messages; m.Configuration != nil || m.State != dynamic.StateUnchanged ||
			m.Reason != "cannot reach the API server" {
			t.Errorf("what it waits for is %+v", m)
		}
		p.statusChanged()
		quiet(t, messages)

		cluster.secrets.SetStatus(dynamic.StateForbidden, "may not list secrets")
		p.statusChanged()
		first := <-messages
		if first.State != dynamic.StateSynced || first.Reason != "may not list secrets" {
			t.Errorf("the state is %v because %q", first.State, first.Reason)
		}
		if first.Configuration.HTTP.Routers.Len() != 2 {
			t.Errorf("the first configuration has %d routers, want 2", first.Configuration.HTTP.Routers.Len())
		}

		cluster.secrets.SetStatus(dynamic.StateSynced, "")
		p.statusChanged()
		if next := <-messages; next.State != dynamic.StateSynced || next.Reason != "" ||
			next.Configuration != first.Configuration {
			t.Errorf("after recovery: %+v", next)
		}
	})
}

func TestProvideReportsMissingPermissions(t *testing.T) {
	for _, test := range []struct {
		name  string
		stand func(*fakeCluster)
		want  dynamic.ProviderState
	}{
		{"ingresses forbidden", func(c *fakeCluster) {
			c.ingresses.SetStatus(dynamic.StateForbidden, "why")
		}, dynamic.StateForbidden},
		{"services forbidden", func(c *fakeCluster) {
			c.services.SetStatus(dynamic.StateForbidden, "why")
		}, dynamic.StateForbidden},
		{"ingresses absent", func(c *fakeCluster) { c.ingresses.SetStatus(dynamic.StateAbsent, "why") }, dynamic.StateAbsent},
		{"classes forbidden", func(c *fakeCluster) {
			c.classes.SetStatus(dynamic.StateForbidden, "why")
		}, dynamic.StateSynced},
		{"nodes forbidden", func(c *fakeCluster) { c.nodes.SetStatus(dynamic.StateForbidden, "why") }, dynamic.StateSynced},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := newCluster()
				test.stand(cluster)
				m := <-started(t, cluster.provider(static.KubernetesIngress{}))
				if m.State != test.want || m.Reason != "why" || m.Configuration == nil {
					t.Errorf("the message is %+v, want the state %v", m, test.want)
				}
			})
		})
	}
}

// TestARefusalLeavesGood demands that a right that is lost does not make a provider useless that has read everything.
func TestARefusalLeavesGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster := newCluster()
		cluster.apply(t, []byte(twoIngresses))
		p := cluster.provider(static.KubernetesIngress{})
		messages := started(t, p)
		for _, step := range []struct {
			state  dynamic.ProviderState
			reason string
			want   dynamic.ProviderState
		}{
			{dynamic.StateSynced, "", dynamic.StateSynced},
			{dynamic.StateForbidden, "may not watch services", dynamic.StateSynced},
			{dynamic.StateSynced, "", dynamic.StateSynced},
			{dynamic.StateAbsent, "services are not served", dynamic.StateAbsent},
			{dynamic.StateForbidden, "may not list services", dynamic.StateForbidden},
		} {
			cluster.services.SetStatus(step.state, step.reason)
			p.statusChanged()
			if m := <-messages; m.State != step.want || m.Reason != step.reason || m.Configuration.HTTP.Routers.Len() != 2 {
				t.Errorf("the message is %+v, want the state %v because %q", m, step.want, step.reason)
			}
		}
	})
}

func TestProvideSendsAtOnceAndThenNoMoreThanItsInterval(t *testing.T) {
	for _, test := range []struct {
		throttle static.Duration
		interval time.Duration
	}{{0, 10 * time.Millisecond}, {static.Duration(time.Second), time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			cluster := newCluster()
			cluster.apply(t, []byte(twoIngresses))
			messages := started(t, cluster.provider(static.KubernetesIngress{ThrottleDuration: test.throttle}))
			<-messages
			<-time.NewTimer(time.Hour).C // A quiet time, by the clock of the bubble.
			begin := time.Now()
			cluster.ingresses.drop("shop", "one")
			<-messages
			if waited := time.Since(begin); waited != 0 {
				t.Errorf("the first change took %v", waited)
			}
			cluster.ingresses.drop("shop", "two")
			cluster.apply(t, []byte(twoIngresses))
			m := <-messages
			if waited := time.Since(begin); waited != test.interval || m.Configuration.HTTP.Routers.Len() != 2 {
				t.Errorf("the second change came after %v with %d routers", waited, m.Configuration.HTTP.Routers.Len())
			}
		})
	}
}

// counts counts per kind.
type counts struct {
	mu sync.Mutex
	of map[string]int
}

func (c *counts) CountProvider(what, provider, kind string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[string]int{}
	}
	c.of[provider+" "+what+" "+kind] += n
}

func TestWhatSaysTheSameIsNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cluster, counted := newCluster(), &counts{}
		cluster.apply(t, []byte(twoIngresses))
		messages := started(t, cluster.counted(static.KubernetesIngress{}, counted))
		<-messages
		cluster.apply(t, []byte(twoIngresses))
		quiet(t, messages)
		<-time.NewTimer(time.Second).C
		quiet(t, messages)
		want := map[string]int{
			"kubernetes events Ingress": 4, "kubernetes builds Ingress": 4,
			"kubernetes pushes Ingress": 2, "kubernetes drops Ingress": 2,
		}
		counted.mu.Lock()
		defer counted.mu.Unlock()
		if diff := cmp.Diff(want, counted.of); diff != "" {
			t.Error(diff)
		}
	})
}
