package endpoint_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client/clienttest"
	"github.com/sluiceproxy/sluice/provider/kubernetes/endpoint"
	"github.com/sluiceproxy/sluice/provider/kubernetes/virtualenvironment"
	"github.com/sluiceproxy/sluice/telemetry"
)

var (
	podKind         = corev1.SchemeGroupVersion.WithResource("pods")
	environmentKind = virtualenvironment.GroupVersion().WithResource(virtualenvironment.Resource)
)

// podOf is a whole pod, as a server sends it that does not know metadata alone.
func podOf(name, tag string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, UID: types.UID(name), Labels: map[string]string{"virtual-env": tag, "app": "web"},
		},
		Spec: corev1.PodSpec{NodeName: "n"},
	}
}

// withPods is a slice of pods, by name, with addresses that count.
func withPods(pods ...string) *discoveryv1.EndpointSlice {
	slice := sliceOf("web", "192.0.2.1", "192.0.2.2", "192.0.2.3")
	slice.Endpoints = slice.Endpoints[:len(pods)]
	for i, name := range pods {
		slice.Endpoints[i].TargetRef = &corev1.ObjectReference{Kind: "Pod", Name: name, UID: types.UID(name)}
	}
	return slice
}

// object is a VirtualEnvironment; created orders several.
func object(name string, created int64, spec virtualenvironment.Spec) *virtualenvironment.VirtualEnvironment {
	return &virtualenvironment.VirtualEnvironment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, UID: types.UID(name), CreationTimestamp: metav1.Unix(created, 0),
		},
		Spec: spec,
	}
}

// divided is a cluster whose Services are divided, and what is sent of it.
type divided struct {
	t            *testing.T
	server       *clienttest.Server
	provider     *endpoint.Provider
	environments *endpoint.Environments

	mu       sync.Mutex
	sets     map[string]string
	verdicts []dynamic.Verdict
	// origins are those of the last configuration, and configurations their number.
	origins        map[string]dynamic.Resource
	configurations int
	// undivided counts messages in which the Service web is not divided.
	undivided int
}

func divide(t *testing.T, server *clienttest.Server) *divided {
	t.Helper()
	cluster, err := client.Connect(client.Options{Endpoint: server.URL()}, "k", telemetry.Discard{},
		virtualenvironment.AddToScheme)
	if err != nil {
		t.Fatal(err)
	}
	d := &divided{t: t, server: server, environments: endpoint.NewEnvironments(), sets: map[string]string{}}
	d.provider = endpoint.New(cluster, client.Scope{}, virtualenvironment.New(cluster, client.Scope{}), d.environments,
		nil)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := cluster.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	messages := make(chan dynamic.Message)
	running.Go(func() { _ = d.provider.Provide(ctx, messages) })
	running.Go(func() {
		for {
			select {
			case message := <-messages:
				d.take(message)
			case <-ctx.Done():
				return
			}
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return d
}

func (d *divided) take(message dynamic.Message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if message.Configuration != nil {
		d.verdicts, d.origins = message.Configuration.Verdicts, map[string]dynamic.Resource{}
		d.configurations++
		for ref, origin := range message.Configuration.Origins.All() {
			d.origins[ref.Name] = *origin.Resource
		}
	}
	for _, set := range message.Endpoints {
		if delete(d.sets, set.Key); set.Deleted {
			continue
		}
		var pods []string
		for _, one := range set.Endpoints {
			pods = append(pods, one.UID)
		}
		d.sets[set.Key] = strings.Join(pods, " ")
		if set.Key == "k/shop/web:80" && set.Environment == nil {
			d.undivided++
		}
	}
}

// until waits for what holds of the sets, the verdicts and the division of the Service web.
func (d *divided) until(
	what string, holds func(sets map[string]string, tags []string, verdicts []dynamic.Verdict) bool,
) {
	d.t.Helper()
	ticker, deadline := time.NewTicker(2*time.Millisecond), time.Now().Add(2*time.Minute)
	defer ticker.Stop()
	for {
		var tags []string
		if found := d.environments.Environment("shop", "web", 80); found != nil {
			for _, subset := range found.Subsets {
				tags = append(tags, subset.Tag)
			}
		}
		d.mu.Lock()
		ok := holds(d.sets, tags, d.verdicts)
		text, verdicts := d.sets, d.verdicts
		d.mu.Unlock()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			d.t.Fatalf("%s: not within 2 min; sets %v, tags %v, verdicts %v", what, text, tags, verdicts)
		}
		<-ticker.C
	}
}

// TestVirtualEnvironmentsDivideServices goes from the objects of an API server to endpoint sets.
func TestVirtualEnvironmentsDivideServices(t *testing.T) {
	t.Parallel()
	server := clienttest.New(t)
	server.Serve(podKind, "Pod")
	server.Put(services, service("web"))
	server.Put(sliceKind, withPods("p1", "p2"))
	server.Put(podKind, podOf("p1", "dev"), podOf("p2", "dev.a"))
	d := divide(t, server)
	d.until("no VirtualEnvironment", func(sets map[string]string, tags []string, _ []dynamic.Verdict) bool {
		return sets["k/shop/web:80"] == "p1 p2" && len(sets) == 1 && tags == nil
	})
	server.Serve(environmentKind, virtualenvironment.Kind)
	server.Put(environmentKind, object("demo", 1, virtualenvironment.Spec{}))
	d.until("divided", func(sets map[string]string, tags []string, _ []dynamic.Verdict) bool {
		return sets["k/shop/web:80#dev"] == "p1" && sets["k/shop/web:80#dev.a"] == "p2" &&
			slices.Equal(tags, []string{"dev", "dev.a"})
	})
	server.Put(podKind, podOf("p3", "dev.b"))
	server.Put(sliceKind, withPods("p1", "p2", "p3"))
	d.until("a third environment", func(sets map[string]string, tags []string, _ []dynamic.Verdict) bool {
		return sets["k/shop/web:80#dev.b"] == "p3" && len(tags) == 3
	})
	server.Put(environmentKind, object("later", 2, virtualenvironment.Spec{}))
	d.until("a second object is reported", func(_ map[string]string, _ []string, verdicts []dynamic.Verdict) bool {
		return len(verdicts) == 1 && verdicts[0].Origin.Resource.Name == "later" &&
			verdicts[0].Code == dynamic.CodeConflictingName && strings.Contains(verdicts[0].Reason, "shop/demo")
	})
	server.Delete(environmentKind, "shop", "demo")
	d.until("the second one applies", func(_ map[string]string, tags []string, verdicts []dynamic.Verdict) bool {
		return len(verdicts) == 0 && len(tags) == 3
	})
	server.Delete(environmentKind, "shop", "later")
	d.until("plain again", func(sets map[string]string, tags []string, _ []dynamic.Verdict) bool {
		return len(sets) == 1 && tags == nil
	})
}

// TestAnInvalidVirtualEnvironmentKeepsItsLastPolicy also with what is left out of one.
func TestAnInvalidVirtualEnvironmentKeepsItsLastPolicy(t *testing.T) {
	t.Parallel()
	server := clienttest.New(t)
	server.Serve(podKind, "Pod")
	server.Serve(environmentKind, virtualenvironment.Kind)
	server.Put(services, service("web"))
	server.Put(sliceKind, withPods("p1"))
	server.Put(podKind, podOf("p1", "dev"))
	server.Put(environmentKind, object("demo", 1, virtualenvironment.Spec{EnvHeader: virtualenvironment.EnvHeader{
		Name: "x-mine", Aliases: []virtualenvironment.Alias{{Name: "cookie", Pattern: "["}, {Name: "x-alias"}},
	}}))
	d := divide(t, server)
	d.until("an alias is left out", func(_ map[string]string, tags []string, verdicts []dynamic.Verdict) bool {
		return len(tags) == 1 && len(verdicts) == 1 && verdicts[0].Status == dynamic.Degraded &&
			strings.HasPrefix(verdicts[0].Reason, "spec.envHeader.aliases[0] is left out: pattern")
	})
	server.Put(environmentKind, object("demo", 1,
		virtualenvironment.Spec{EnvHeader: virtualenvironment.EnvHeader{Name: "a b"}}))
	d.until("the object is invalid", func(_ map[string]string, tags []string, verdicts []dynamic.Verdict) bool {
		return len(tags) == 1 && len(verdicts) == 1 && verdicts[0].Status == dynamic.Retained && !verdicts[0].Since.IsZero()
	})
	d.mu.Lock()
	since := d.verdicts[0].Since
	d.mu.Unlock()
	server.Put(environmentKind, object("demo", 1,
		virtualenvironment.Spec{EnvHeader: virtualenvironment.EnvHeader{Name: "c d"}}))
	d.until("it is invalid otherwise", func(_ map[string]string, _ []string, verdicts []dynamic.Verdict) bool {
		return len(verdicts) == 1 && strings.Contains(verdicts[0].Reason, "c d") && verdicts[0].Since.Equal(since)
	})
	found := d.environments.Environment("shop", "web", 80)
	if found.Header != "x-mine" || len(found.Aliases) != 1 || found.Fallback != dynamic.FallbackAny {
		t.Errorf("the policy in use is %+v", found)
	}
}

// TestAnotherLabel demands that a Service stays divided by the old label until the pods with the new one are known.
func TestAnotherLabel(t *testing.T) {
	t.Parallel()
	server := clienttest.New(t)
	server.Serve(podKind, "Pod")
	server.Serve(environmentKind, virtualenvironment.Kind)
	server.Put(services, service("web"))
	server.Put(sliceKind, withPods("p1", "p2"))
	one, two := podOf("p1", "dev"), podOf("p2", "dev.a")
	one.Labels["other"], two.Labels["other"] = "test", "test.b"
	server.Put(podKind, one, two)
	server.Put(environmentKind, object("demo", 1, virtualenvironment.Spec{}))
	d := divide(t, server)
	d.until("divided", func(_ map[string]string, tags []string, _ []dynamic.Verdict) bool { return len(tags) == 2 })
	d.mu.Lock()
	before := d.undivided
	d.mu.Unlock()
	server.Put(environmentKind, object("demo", 1, virtualenvironment.Spec{
		EnvLabel: virtualenvironment.EnvLabel{Name: "other"},
	}))
	d.until("divided by the other label", func(sets map[string]string, tags []string, _ []dynamic.Verdict) bool {
		return slices.Equal(tags, []string{"test", "test.b"}) && sets["k/shop/web:80#test"] == "p1" && len(sets) == 3
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.undivided != before {
		t.Errorf("the Service was not divided for %d messages", d.undivided-before)
	}
}

// TestWithoutRightsToPods demands a verdict on the object whose Services cannot be divided, and that the rights are
// used once they are granted.
func TestWithoutRightsToPods(t *testing.T) {
	t.Parallel()
	server := clienttest.New(t)
	server.Serve(podKind, "Pod")
	server.Serve(environmentKind, virtualenvironment.Kind)
	server.Put(services, service("web"))
	server.Put(sliceKind, withPods("p1"))
	server.Put(podKind, podOf("p1", "dev"))
	server.Put(environmentKind, object("demo", 1, virtualenvironment.Spec{}))
	server.Refuse("list", "pods")
	server.Refuse("watch", "pods")
	d := divide(t, server)
	d.until("a verdict on the object", func(sets map[string]string, _ []string, verdicts []dynamic.Verdict) bool {
		return sets["k/shop/web:80"] == "p1" && len(verdicts) == 1 && verdicts[0].Origin.Resource.Name == "demo" &&
			strings.Contains(verdicts[0].Reason, "no further Service is divided: may not list and watch pods")
	})
	server.Grant("list", "pods")
	server.Grant("watch", "pods")
	d.until("divided", func(_ map[string]string, tags []string, verdicts []dynamic.Verdict) bool {
		return len(tags) == 1 && len(verdicts) == 0
	})
}

// TestObjectsAreKnownByTheirOrigins also where nothing is wrong with them. A version that differs in its status alone
// is no news, or each status that is written would lead to another look at all of them.
func TestObjectsAreKnownByTheirOrigins(t *testing.T) {
	t.Parallel()
	server := clienttest.New(t)
	server.Serve(podKind, "Pod")
	server.Serve(environmentKind, virtualenvironment.Kind)
	server.Put(services, service("web"))
	server.Put(sliceKind, withPods("p1"))
	demo := object("demo", 1, virtualenvironment.Spec{})
	demo.Generation = 1
	server.Put(environmentKind, demo)
	d := divide(t, server)
	known := func(generation int64) func(map[string]string, []string, []dynamic.Verdict) bool {
		return func(map[string]string, []string, []dynamic.Verdict) bool {
			of := d.origins["VirtualEnvironment.env.alibaba.com shop/demo"]
			return len(d.origins) == 1 && of.UID == "demo" && of.Generation == generation &&
				of.APIVersion == "env.alibaba.com/v1alpha2" && of.Kind == "VirtualEnvironment"
		}
	}
	d.until("the object", known(1))
	d.mu.Lock()
	before := d.configurations
	d.mu.Unlock()
	demo.Status.ObservedGeneration = 1
	server.Put(environmentKind, demo)
	server.Put(podKind, podOf("p1", "dev"))
	d.until("what comes after the status", func(_ map[string]string, tags []string, _ []dynamic.Verdict) bool {
		return len(tags) == 1
	})
	demo.Generation = 2
	server.Put(environmentKind, demo)
	d.until("another generation", known(2))
	d.mu.Lock()
	if d.configurations != before+1 {
		t.Errorf("%d configurations for a status and a generation, want one", d.configurations-before)
	}
	d.mu.Unlock()
	server.Delete(environmentKind, "shop", "demo")
	d.until("it is gone", func(map[string]string, []string, []dynamic.Verdict) bool { return len(d.origins) == 0 })
}
