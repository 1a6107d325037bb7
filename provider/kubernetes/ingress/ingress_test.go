package ingress

import (
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestNewRefusesWhatIsNoSelector(t *testing.T) {
	cluster, err := client.Connect(client.Options{Endpoint: "http://127.0.0.1:1"}, "kubernetes", telemetry.Discard{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(cluster, static.KubernetesIngress{LabelSelector: "a in"}, nil); err == nil || !strings.HasPrefix(err.Error(), "labelSelector: ") {
		t.Errorf("got the error %v", err)
	}
	p, err := New(cluster, static.KubernetesIngress{LabelSelector: "a in (b)", DisableClusterScopeResources: true}, nil)
	if err != nil || p.watches.nodes != nil || p.watches.classes != nil || p.selector.lookup != nil {
		t.Errorf("got %+v, %v", p, err)
	}
	p, err = New(cluster, static.KubernetesIngress{DisableIngressClassLookup: true}, nil)
	if err != nil || p.watches.nodes == nil || p.watches.classes != nil {
		t.Errorf("got %+v, %v", p, err)
	}
}

func TestNormalize(t *testing.T) {
	for text, want := range map[string]string{
		"shop-web-*.example.com/a/b": "shop-web-example-com-a-b",
		"-/-":                        "",
		"é/１":                        "é-１",
	} {
		if got := normalize(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestNodesCountByTheirAddressesOnly(t *testing.T) {
	cluster := newCluster()
	p := cluster.provider(static.KubernetesIngress{})
	touched := func() bool {
		select {
		case <-p.memory.Touched():
			return true
		default:
			return false
		}
	}
	var got []bool
	for _, manifest := range []string{
		"{kind: Node, metadata: {name: a, labels: {x: '1'}}, status: {addresses: [{type: InternalIP, address: 198.51.100.1}]}}",
		"{kind: Node, metadata: {name: a, labels: {x: '2'}}, status: {addresses: [{type: InternalIP, address: 198.51.100.1}]}}",
		"{kind: Node, metadata: {name: a, labels: {x: '2'}}, status: {addresses: [{type: InternalIP, address: 198.51.100.2}]}}",
	} {
		cluster.apply(t, []byte(manifest))
		got = append(got, touched())
	}
	cluster.nodes.drop("", "a")
	if got = append(got, touched()); !slices.Equal(got, []bool{true, false, true, true}) {
		t.Errorf("got %v", got)
	}
}
