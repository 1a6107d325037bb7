package report

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
)

const routesPath = "/apis/sluice.dev/v1alpha1/namespaces/shop/ingressroutes/"

// store puts an IngressRoute of sluice.dev into the cluster and into the watch cache.
func (r *rig) store(resource *dynamic.Resource, status v1alpha1.Status) {
	r.t.Helper()
	object := &v1alpha1.IngressRoute{
		TypeMeta: metav1.TypeMeta{APIVersion: resource.APIVersion, Kind: resource.Kind},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: resource.Namespace, Name: resource.Name, UID: types.UID(resource.UID), Generation: resource.Generation,
		},
		Status: status,
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		r.t.Fatal(err)
	}
	object.ResourceVersion = r.server.put(routesPath+resource.Name, content)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.objects["IngressRoute "+resource.Namespace+"/"+resource.Name] = object
}

// current returns an IngressRoute as the cluster has it.
func (r *rig) current(name string) *v1alpha1.IngressRoute {
	r.t.Helper()
	r.server.mu.Lock()
	defer r.server.mu.Unlock()
	object := &v1alpha1.IngressRoute{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(r.server.objects[routesPath+name],
		object); err != nil {
		r.t.Fatal(err)
	}
	return object
}

// watched lets the watch cache see what the cluster has.
func (r *rig) watched(name string) {
	object := r.current(name)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.objects["IngressRoute shop/"+name] = object
}

// conditions shows the conditions of a status without their times.
func conditions(status v1alpha1.Status) []string {
	var lines []string
	for _, one := range status.Conditions {
		lines = append(lines, one.Type+"="+string(one.Status)+" "+one.Reason+": "+one.Message)
	}
	return lines
}

func TestStatusFollowsTheActiveTable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		r := newRig(t, server, "one", nil)
		web, other := route("sluice.dev", "web"), route("traefik.io", "other")
		r.store(web, v1alpha1.Status{Conditions: []metav1.Condition{{
			Type: "Audited", Status: metav1.ConditionTrue,
			Reason: "Yes",
		}}})
		r.store(other, v1alpha1.Status{})
		configuration := declaring(web, other)
		r.show(provider.State{Included: map[string]*dynamic.Configuration{"kubernetescrd": configuration}, Settled: true})
		r.run()
		pass(time.Second)
		want := []string{"Audited=True Yes: ", "Accepted=True Accepted: ", "ResolvedRefs=True ResolvedRefs: "}
		status := r.current("web").Status
		if diff := cmp.Diff(want, conditions(status)); diff != "" || status.ObservedGeneration != 3 ||
			status.Conditions[1].ObservedGeneration != 3 {
			t.Fatalf("generation %d, conditions (-want +got):\n%s", status.ObservedGeneration, diff)
		}
		since := status.Conditions[1].LastTransitionTime
		r.watched("web")

		// A degraded object is accepted still, and the condition did not flip.
		pass(time.Minute)
		missing := verdict(web, "a", dynamic.Degraded, "Secret shop/tls does not exist")
		missing.Missing = true
		r.show(provider.State{
			Included: map[string]*dynamic.Configuration{"kubernetescrd": configuration}, Verdicts: []dynamic.Verdict{missing},
			Settled: true,
		})
		r.Publish([]dynamic.Verdict{missing})
		pass(time.Second)
		want = []string{
			"Audited=True Yes: ", "Accepted=True MissingSecret: Secret shop/tls does not exist",
			"ResolvedRefs=False MissingSecret: Secret shop/tls does not exist",
		}
		status = r.current("web").Status
		if diff := cmp.Diff(want, conditions(status)); diff != "" {
			t.Errorf("conditions (-want +got):\n%s", diff)
		}
		if !status.Conditions[1].LastTransitionTime.Equal(&since) ||
			!status.Conditions[2].LastTransitionTime.After(since.Time) {
			t.Errorf("times of transition: %v and %v, the first was %v", status.Conditions[1].LastTransitionTime,
				status.Conditions[2].LastTransitionTime, since)
		}
		r.watched("web")

		// A further version is observed although it says the same.
		next := *web
		next.Generation = 4
		refused := verdict(&next, "a", dynamic.Quarantined, "bad rule")
		r.show(provider.State{
			Included: map[string]*dynamic.Configuration{"kubernetescrd": declaring(&next)}, Verdicts: []dynamic.Verdict{refused},
			Settled: true,
		})
		pass(time.Second)
		want = []string{"Audited=True Yes: ", "Accepted=False InvalidRule: bad rule", "ResolvedRefs=True ResolvedRefs: "}
		status = r.current("web").Status
		if diff := cmp.Diff(want, conditions(status)); diff != "" || status.ObservedGeneration != 4 {
			t.Errorf("generation %d, conditions (-want +got):\n%s", status.ObservedGeneration, diff)
		}
		if patches, others := server.seen("PATCH "+routesPath), server.seen("PATCH "+routesPath+"other"); patches != 3 ||
			others != 0 {
			t.Errorf("%d patches, %d of objects of other groups; want 3 and 0", patches, others)
		}
	})
}

func TestStatusIsNotWrittenWhereItIsRightOrNotKnownYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		r := newRig(t, server, "one", nil)
		web := route("sluice.dev", "web")
		r.store(web, v1alpha1.Status{})
		view := provider.State{Included: map[string]*dynamic.Configuration{"kubernetescrd": declaring(web)}}
		r.show(view)
		r.run()
		pass(time.Minute)
		if n := server.seen("PATCH"); n != 0 {
			t.Fatalf("%d patches while the table is not settled", n)
		}
		view.Settled = true
		r.show(view)
		pass(time.Second)
		r.watched("web")
		pass(10 * time.Minute)
		if n := server.seen("PATCH"); n != 1 {
			t.Fatalf("%d patches of a status that is right, want the first alone", n)
		}
		// A status written by another client is overwritten.
		r.store(web, v1alpha1.Status{ObservedGeneration: 3})
		pass(2 * compareEvery)
		if accepted := conditions(r.current("web").Status); len(accepted) != 2 {
			t.Errorf("conditions %v are not mended", accepted)
		}
	})
}

func TestStatusConflictsAreTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		r := newRig(t, server, "one", nil)
		web := route("sluice.dev", "web")
		r.store(web, v1alpha1.Status{})
		// A newer version, which the watch has not brought yet.
		server.put(routesPath+"web", server.objects[routesPath+"web"])
		r.show(provider.State{Included: map[string]*dynamic.Configuration{"kubernetescrd": declaring(web)}, Settled: true})
		r.run()
		pass(3 * time.Second)
		if len(r.current("web").Status.Conditions) != 0 || server.seen("PATCH") == 0 {
			t.Fatal("a status was written over a version that had not been seen, or never")
		}
		r.watched("web")
		pass(time.Second)
		if len(r.current("web").Status.Conditions) != 2 {
			t.Error("the status is not written once the watch has brought the new version")
		}
	})
}

func TestStatusThatMayNotBeWrittenIsSaidOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		server.refuse("PATCH ingressroutes/status", true)
		r := newRig(t, server, "one", nil)
		var all []*dynamic.Resource
		for _, name := range []string{"a", "b", "c", "d"} {
			all = append(all, route("sluice.dev", name))
			r.store(all[len(all)-1], v1alpha1.Status{})
		}
		r.show(provider.State{Included: map[string]*dynamic.Configuration{"kubernetescrd": declaring(all...)}, Settled: true})
		r.run()
		pass(10 * time.Minute)
		if r.log.count("may not patch ingressroutes/status.sluice.dev") != 1 || len(r.log.lines) != 1 {
			t.Errorf("log: %v, want one line", r.log.lines)
		}
		if tries := server.seen("PATCH"); tries > 12 {
			t.Errorf("%d attempts in 10 minutes", tries)
		}
		server.refuse("PATCH ingressroutes/status", false)
		pass(2 * compareEvery)
		if len(r.current("d").Status.Conditions) != 2 {
			t.Error("the status is not written once it is granted")
		}
	})
}

func TestStatusesAreWrittenAtABoundedRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		r := newRig(t, server, "one", nil)
		var all []*dynamic.Resource
		for i := range 500 {
			all = append(all, route("sluice.dev", "r"+time.Duration(i).String()))
			r.store(all[i], v1alpha1.Status{})
		}
		r.show(provider.State{Included: map[string]*dynamic.Configuration{"kubernetescrd": declaring(all...)}, Settled: true})
		r.run()
		if n := server.seen("PATCH"); n != statusBurst {
			t.Errorf("%d statuses at once, want %d", n, statusBurst)
		}
		pass(10 * time.Second)
		if n := server.seen("PATCH"); n != statusBurst+200 {
			t.Errorf("%d statuses after 10 s, want %d", n, statusBurst+200)
		}
		pass(20 * time.Second)
		if n := server.seen("PATCH"); n != 500 {
			t.Errorf("%d patches, want one for each of 500", n)
		}
	})
}
