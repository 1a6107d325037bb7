package gateway

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/static"
)

// programmed returns the conditions Programmed of a Gateway and of its listeners as lines; none without a status.
func programmed(p *Provider) []string {
	var found []string
	for _, line := range statusLines(p) {
		if _, conditions, ok := strings.Cut(line, " Programmed="); ok {
			found = append(found, conditions)
		}
	}
	return found
}

// TestProgrammedIsWhatServes proves that listeners are programmed while they are active and bound, and no longer.
func TestProgrammedIsWhatServes(t *testing.T) {
	c := newCluster()
	c.apply(t, common(t))
	gateway := func(hostname, addresses string) {
		c.apply(t, []byte(`{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: main, namespace: shop},
			spec: {gatewayClassName: sluice, `+addresses+` listeners: [
				{name: http, port: 80, protocol: HTTP, hostname: `+hostname+`}]}}`))
	}
	gateway("a.test", "")
	p := c.provider(static.KubernetesGateway{})
	expect := func(when string, want ...string) {
		t.Helper()
		if _, changed := p.update(); changed && !strings.HasPrefix(when, "an edit") {
			t.Errorf("%s: the configuration has changed", when)
		}
		if got := programmed(p); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	first, _ := p.update()
	expect("before anything is known")
	p.Activated(&dynamic.Configuration{}, nil)
	expect("before it is active", "False:Pending@0", "False:Pending@0")
	p.Activated(first, nil)
	expect("active", "True:Programmed@0", "True:Programmed@0")
	verdict := dynamic.Verdict{
		Ref:    dynamic.Ref{Kind: dynamic.KindListener, Name: "shop_main_http@" + Name},
		Status: dynamic.Quarantined, Reason: "the address is not served: address already in use",
	}
	p.Activated(first, []dynamic.Verdict{verdict})
	expect("not bound", "False:Invalid@0", "False:Invalid@0")
	p.Activated(first, nil)
	expect("bound later", "True:Programmed@0", "True:Programmed@0")
	gateway("b.test", "addresses: [{value: 192.0.2.1}],")
	expect("an edit", "False:Pending@0", "False:Pending@0")
	second, _ := p.update()
	p.Activated(first, nil) // The table before is still active.
	expect("the table before", "False:Pending@0", "False:Pending@0")
	p.Activated(second, nil)
	expect("the next table", "True:Programmed@0", "True:Programmed@0")
	p.Activated(second, []dynamic.Verdict{verdict})
	expect("an address of its own that is not bound", "False:AddressNotUsable@0", "False:Invalid@0")
}
