package exposure_test

import (
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/static"
)

// TestEditedPortsTakeNoBoundOnes proves that an older Gateway gets no port that another one is bound to when its
// Service is edited to lead there, and that the leader takes the edit back.
func TestEditedPortsTakeNoBoundOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newAPIServer(t)
		options := config(static.ExposeByService)
		r, follower := newRig(t, server, options), newRig(t, server, options)
		r.lead()
		older, newer := made("older", 0), made("newer", 1)
		for _, one := range []*rig{r, follower} {
			one.expose(older, web, quic)
			one.expose(newer, web)
		}
		pass(3 * time.Second)
		before := r.binding(newer, web)
		if before != ":20001" || follower.binding(newer, web) != before {
			t.Fatalf("bound to %s and %s", before, follower.binding(newer, web))
		}
		edited := server.serviceOf("older").DeepCopy()
		edited.Spec.Ports[0].TargetPort.IntVal = 20001
		server.services.put(edited)
		for _, one := range []*rig{r, follower} {
			if got := one.binding(newer, web); got != before {
				t.Errorf("after the edit, the Gateway is bound to %s, want %s", got, before)
			}
			if got := one.binding(older, web); got != "unknown" {
				t.Errorf("after the edit, the older Gateway is bound to %s", got)
			}
			if got := one.binding(older, quic); got != ":20000" {
				t.Errorf("after the edit, another port of the older Gateway is bound to %s", got)
			}
		}
		pass(15 * time.Second)
		for _, one := range []*rig{r, follower} {
			if got := one.binding(newer, web); got != before {
				t.Errorf("the Gateway is bound to %s, want %s", got, before)
			}
			if got := one.binding(older, web); got != ":20000" {
				t.Errorf("the older Gateway is bound to %s", got)
			}
		}
	})
}

// TestPortsOfTheNodeAreKept proves that an older Gateway does not take a port that another one has: neither while an
// instance runs nor at the next start, in any order, when the status says who had it. A status for another
// specification says nothing.
func TestPortsOfTheNodeAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		options := config(static.ExposeOnNode)
		older, newer := made("older", 0), made("newer", 1)
		for i, one := range []*gatewayv1.Gateway{older, newer} {
			one.Generation = 2
			one.Spec.Listeners = []gatewayv1.Listener{{Name: "x", Port: 80, Protocol: gatewayv1.HTTPProtocolType}}
			one.Status.Listeners = []gatewayv1.ListenerStatus{{Name: "x", Conditions: []metav1.Condition{{
				Type: "Programmed", Status: metav1.ConditionTrue, ObservedGeneration: int64(1 + i),
			}}}}
		}
		first := newRig(t, newAPIServer(t), options)
		first.expose(newer, web)
		pass(3 * time.Second)
		first.expose(older, web, https)
		forwards, backwards := newRig(t, newAPIServer(t), options), newRig(t, newAPIServer(t), options)
		forwards.expose(older, web, https)
		forwards.expose(newer, web)
		backwards.expose(newer, web)
		backwards.expose(older, web, https)
		for _, r := range []*rig{first, forwards, backwards} {
			got := [3]string{r.binding(newer, web), r.binding(older, web), r.binding(older, https)}
			if want := [3]string{":80", "PortUnavailable", ":443"}; got != want {
				t.Errorf("bound to %v, want %v", got, want)
			}
		}
		first.withdraw(newer)
		if got := first.binding(older, web); got != ":80" {
			t.Errorf("when the one that had the port is gone, the other is bound to %s", got)
		}
	})
}
