package exposure_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway"
	"github.com/sluiceproxy/sluice/static"
)

// TestRepetitionsCostNothing proves that neither a Gateway that is exposed again as it was, nor an event that no answer
// depends on, has the answers for all Gateways worked out, and that a change is still followed.
func TestRepetitionsCostNothing(t *testing.T) {
	const gateways, few = 500, 50
	server := newAPIServer(t)
	r := newRig(t, server, config(static.ExposeByService))
	for i := range gateways {
		r.expose(made(fmt.Sprint("g", i), i%60), web)
	}
	one := made("g7", 7)
	ports := []gateway.Port{web}
	for what, repeat := range map[string]func(){
		"a Gateway as it was": func() { r.Expose(one, ports) },
		"an event of a pod":   func() { server.addPod("one", "10.1.0.1", corev1.ConditionTrue) },
	} {
		if n := testing.AllocsPerRun(10, repeat); n > few {
			t.Errorf("%s: %.0f allocations among %d Gateways, want at most %d", what, n, gateways, few)
		}
	}
	r.expose(made("g7", 7, "192.0.2.1", "192.0.2.2"), web)
	if got := r.addresses(one); got != "AddressNotUsable" {
		t.Errorf("after a change, the Gateway has %s", got)
	}
}
