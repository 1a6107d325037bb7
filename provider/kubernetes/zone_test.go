package kubernetes

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluiceproxy/sluice/provider/kubernetes/client/clienttest"
	"github.com/sluiceproxy/sluice/static"
)

func node(name, zone string) *corev1.Node {
	labels := map[string]string{"kubernetes.io/hostname": name}
	if zone != "" {
		labels[corev1.LabelTopologyZone] = zone
	}
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

// TestZone reads the zone of a node in each state of the cluster, and for that node alone.
func TestZone(t *testing.T) {
	type want struct{ zone, reason string }
	for name, test := range map[string]struct {
		node   string
		change func(*clienttest.Server)
		crd    static.KubernetesCRD
		want   want
		silent bool
	}{
		"a node with a zone": {node: "one", want: want{zone: "a"}},
		"another node":       {node: "two", want: want{zone: "b"}},
		"no variable":        {silent: true},
		"nodes are not to be read": {
			node: "one", crd: static.KubernetesCRD{DisableClusterScopeResources: true},
			silent: true,
		},
		"a node without a zone": {node: "bare", want: want{reason: "Node bare has no label topology.kubernetes.io/zone"}},
		"no such node":          {node: "gone", want: want{reason: "Node gone, which NODE_NAME names, does not exist"}},
		"nodes may not be read": {
			node: "one", change: func(s *clienttest.Server) { s.Refuse("list", "nodes") },
			want: want{reason: "list is not allowed"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("NODE_NAME", test.node)
			server := clienttest.New(t)
			server.Put(schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, node("one", "a"), node("two", "b"),
				node("bare", ""))
			if test.change != nil {
				test.change(server)
			}
			test.crd.Endpoint = server.URL()
			zone, err := assemble(t, &test.crd, nil).Zone(t.Context())
			got := want{zone: zone}
			if err != nil {
				got.reason = err.Error()
			}
			if got.zone != test.want.zone || (got.reason == "") != (test.want.reason == "") || !strings.HasSuffix(got.reason,
				test.want.reason) {
				t.Errorf("zone and error are %q, want %q", got, test.want)
			}
			var asked []string
			if !test.silent {
				asked = []string{"list /api/v1/nodes?fieldSelector=metadata.name%3D" + test.node}
			}
			if diff := cmp.Diff(asked, server.Requests()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

// TestZoneOutlastsTheAPIServer shows that a node is requested until there is an answer, and no longer than the context.
func TestZoneOutlastsTheAPIServer(t *testing.T) {
	t.Setenv("NODE_NAME", "one")
	server := clienttest.New(t)
	server.Put(schema.GroupVersionResource{Version: "v1", Resource: "nodes"}, node("one", "a"))
	server.RequireToken("right")
	all := assemble(t, &static.KubernetesCRD{Endpoint: server.URL()}, nil)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if zone, err := all.Zone(gone); err == nil || zone != "" {
		t.Errorf("the zone is %q with %v after the end", zone, err)
	}
	found := make(chan string)
	go func() {
		zone, err := all.Zone(t.Context())
		if err != nil {
			t.Error(err)
		}
		found <- zone
	}()
	for len(server.Requests()) == 0 {
		select {
		case zone := <-found:
			t.Fatalf("the zone is %q before there was an answer", zone)
		default:
			runtime.Gosched()
		}
	}
	server.RequireToken("")
	if zone := <-found; zone != "a" {
		t.Errorf("the zone is %q, want a", zone)
	}
}

// TestZoneIsOfTheClusterThatSluiceRunsIn demands that the cluster which no option names is queried, although it is not
// the first one.
func TestZoneIsOfTheClusterThatSluiceRunsIn(t *testing.T) {
	for _, here := range []bool{true, false} {
		first, second := &cluster{named: true}, &cluster{named: !here}
		all := &Clusters{order: []*cluster{first, second}}
		want := []*cluster{first, second}[slices.Index([]bool{false, true}, here)]
		if got := all.home(); got != want {
			t.Errorf("cluster without an address: %v; the wrong one is queried", here)
		}
	}
	if (&Clusters{}).home() != nil {
		t.Error("a cluster is queried where there is none")
	}
}
