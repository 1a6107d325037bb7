package exposure_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/static"
)

// TestEditedPortsTakeNoBoundOnes proves that an older Gateway gets no port that another one is bound to when its Service
// is edited to lead there, nor do its listeners, and that the leader takes the edit back.
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
