package crd

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client/clienttest"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	routesOfTraefik = v1alpha1.GroupVersion(v1alpha1.GroupTraefik).WithResource(v1alpha1.ResourceIngressRoutes)
	routesOfSluice  = v1alpha1.GroupVersion(v1alpha1.GroupSluice).WithResource(v1alpha1.ResourceIngressRoutes)
	coreServices    = corev1.SchemeGroupVersion.WithResource("services")
)

// rig is a provider that reads a small API server.
type rig struct {
	t        *testing.T
	server   *clienttest.Server
	provider *Provider
	messages chan dynamic.Message
}

func newRig(t *testing.T, options static.KubernetesCRD, prepare func(*clienttest.Server)) *rig {
	t.Helper()
	r := &rig{t: t, server: clienttest.New(t), messages: make(chan dynamic.Message)}
	prepare(r.server)
	cluster, err := client.Connect(client.Options{Endpoint: r.server.URL()}, "kubernetes", telemetry.Discard{},
		v1alpha1.AddToScheme)
	if err != nil {
		t.Fatal(err)
	}
	if r.provider, err = New(options, cluster, nil, nil, checks{}); err != nil {
		t.Fatal(err)
	}
	r.start(cluster.Run)
	return r
}

// start runs something until the test ends, or the returned function is called.
func (r *rig) start(run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			r.t.Errorf("it ended with %v", err)
		}
	}
	r.t.Cleanup(stop)
	return stop
}

func (r *rig) provide() (stop func()) {
	return r.start(func(ctx context.Context) error { return r.provider.Provide(ctx, r.messages) })
}

// await returns the first message that is as wanted.
func (r *rig) await(what string, wanted func(dynamic.Message) bool) dynamic.Message {
	r.t.Helper()
	timeout := time.NewTimer(2 * time.Minute)
	defer timeout.Stop()
	var last dynamic.Message
	for {
		select {
		case last = <-r.messages:
			if wanted(last) {
				return last
			}
		case <-timeout.C:
			r.t.Fatalf("%s: not within 2 min; the last message is %+v", what, last)
		}
	}
}

func rules(message dynamic.Message) string {
	if message.Configuration == nil {
		return ""
	}
	var rules []string
	for _, router := range message.Configuration.HTTP.Routers.All() {
		rules = append(rules, router.Rule)
	}
	return strings.Join(rules, " ")
}

func ingressRoute(name, match string, annotations map[string]string) *v1alpha1.IngressRoute {
	return &v1alpha1.IngressRoute{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Annotations: annotations},
		Spec: v1alpha1.IngressRouteSpec{Routes: []v1alpha1.Route{{
			Match: match,
			Services: []v1alpha1.Service{{LoadBalancerSpec: v1alpha1.LoadBalancerSpec{
				Name: "web", Port: intstr.FromInt32(80),
			}}},
		}}},
	}
}

func TestProvideFollowsTheCluster(t *testing.T) {
	r := newRig(t, static.KubernetesCRD{}, func(server *clienttest.Server) {
		server.Serve(routesOfTraefik, v1alpha1.KindIngressRoute)
		server.Serve(routesOfSluice, v1alpha1.KindIngressRoute)
		server.Put(coreServices, service("shop", "web", corev1.ServicePort{Port: 80}))
		server.Put(routesOfTraefik, ingressRoute("web", "Host(`one`)", nil), ingressRoute("other", "Path(`/other`)", nil))
	})
	stop := r.provide()
	first := r.await("the first state", func(m dynamic.Message) bool { return m.Configuration != nil })
	if first.Configuration.HTTP.Routers.Len() != 2 || first.State != dynamic.StateSynced ||
		len(first.Configuration.Verdicts) > 0 {
		t.Errorf("the first state is %+v with the verdicts %v, want all of it", first, first.Configuration.Verdicts)
	}

	// What says the same is no message: the next one is the one after.
	r.server.Put(routesOfTraefik, ingressRoute("web", "Host(`one`)", map[string]string{"note": "new"}))
	r.server.Put(routesOfTraefik, ingressRoute("web", "Host(`two`)", nil))
	second := r.await("an edit", func(m dynamic.Message) bool { return strings.Contains(rules(m), "two") })
	for name, router := range second.Configuration.HTTP.Routers.All() {
		if strings.Contains(router.Rule, "other") && router != first.Configuration.HTTP.Routers.Get(name) {
			t.Error("a router that has not changed lost its pointer")
		}
	}

	r.server.Delete(coreServices, "shop", "web")
	r.await("a Service that goes", func(m dynamic.Message) bool {
		verdicts := m.Configuration.Verdicts
		return len(verdicts) == 2 && verdicts[0].Missing && m.Configuration.HTTP.Routers.Len() == 2
	})
	r.server.Put(coreServices, service("shop", "web", corev1.ServicePort{Port: 80}))
	r.await("a Service that comes", func(m dynamic.Message) bool { return len(m.Configuration.Verdicts) == 0 })

	r.server.Put(routesOfSluice, ingressRoute("web", "Host(`ours`)", nil))
	r.await("an object of a group that comes first", func(m dynamic.Message) bool {
		return strings.Contains(rules(m), "ours") && !strings.Contains(rules(m), "two")
	})
	r.server.Delete(routesOfSluice, "shop", "web")
	last := r.await("and goes", func(m dynamic.Message) bool { return strings.Contains(rules(m), "two") })

	stop()
	stop = r.provide()
	again := r.await("the whole state after a restart", func(dynamic.Message) bool { return true })
	if again.Configuration != last.Configuration || again.State != dynamic.StateSynced {
		t.Errorf("after a restart the state is %+v, want the last one", again)
	}
	stop()
}

func TestProvideWithoutTheDefinitions(t *testing.T) {
	r := newRig(t, static.KubernetesCRD{}, func(server *clienttest.Server) {
		server.Put(coreServices, service("shop", "web", corev1.ServicePort{Port: 80}))
	})
	r.provide()
	message := r.await("the first state", func(m dynamic.Message) bool { return m.Configuration != nil })
	if message.State != dynamic.StateAbsent || !strings.Contains(message.Reason, "traefik.io") || rules(message) != "" {
		t.Errorf("without definitions the state is %+v, want absent", message)
	}
	r.server.Serve(routesOfTraefik, v1alpha1.KindIngressRoute)
	r.server.Put(routesOfTraefik, ingressRoute("web", "Host(`one`)", nil))
	r.await("the definitions come", func(m dynamic.Message) bool {
		return m.State == dynamic.StateSynced && strings.Contains(rules(m), "one")
	})
}

func TestProvideWithoutRights(t *testing.T) {
	tests := []struct {
		refused string
		want    dynamic.ProviderState
	}{
		{"secrets", dynamic.StateSynced},
		{"services", dynamic.StateForbidden},
		{v1alpha1.ResourceIngressRoutes, dynamic.StateForbidden},
	}
	for _, test := range tests {
		t.Run(test.refused, func(t *testing.T) {
			r := newRig(t, static.KubernetesCRD{}, func(server *clienttest.Server) {
				server.Serve(routesOfTraefik, v1alpha1.KindIngressRoute)
				server.Put(routesOfTraefik, ingressRoute("web", "Host(`one`)", nil))
				server.Refuse("list", test.refused)
				server.Refuse("watch", test.refused)
			})
			r.provide()
			message := r.await("the first state", func(m dynamic.Message) bool { return m.Configuration != nil })
			if message.State != test.want || !strings.Contains(message.Reason, test.refused) {
				t.Errorf("the state is %s with %q, want %s, naming %q", message.State, message.Reason, test.want, test.refused)
			}
		})
	}
}

func TestNewRefusesABadLabelSelector(t *testing.T) {
	cluster, err := client.Connect(client.Options{Endpoint: "http://127.0.0.1:1"}, "kubernetes", telemetry.Discard{},
		v1alpha1.AddToScheme)
	if err != nil {
		t.Fatal(err)
	}
	_, err = New(static.KubernetesCRD{LabelSelector: "a in ("}, cluster, nil, nil, nil)
	if err == nil || !strings.HasPrefix(err.Error(), "providers.kubernetesCRD.labelSelector: ") {
		t.Errorf("New = %v, want an error that names the option", err)
	}
}
