package kubernetes

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
	"github.com/sluiceproxy/sluice/telemetry/metrics"
)

func assemble(t *testing.T, crd *static.KubernetesCRD, ingress *static.KubernetesIngress) *Clusters {
	t.Helper()
	all, err := New(Options{
		CRD: crd, Ingress: ingress, Metrics: metrics.New(metrics.Options{EntryPoints: true}),
		Logger: telemetry.Discard{},
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestProvidersShareACluster(t *testing.T) {
	const here, there = "http://127.0.0.1:1", "http://127.0.0.1:2"
	for name, test := range map[string]struct {
		crd     *static.KubernetesCRD
		ingress *static.KubernetesIngress
		entries string
		sources string
		scopes  string
	}{
		"nothing": {nil, nil, "", "", ""},
		"one":     {&static.KubernetesCRD{Endpoint: here}, nil, "kubernetescrd kubernetesendpoints", "kubernetes", "all"},
		"both of one": {
			&static.KubernetesCRD{Endpoint: here, Namespaces: []string{"shop"}},
			&static.KubernetesIngress{Endpoint: here, Namespaces: []string{"blog", "shop"}},
			"kubernetescrd kubernetes kubernetesendpoints", "kubernetes", "blog,shop",
		},
		"one of them everywhere": {
			&static.KubernetesCRD{Endpoint: here, Namespaces: []string{"shop"}}, &static.KubernetesIngress{Endpoint: here},
			"kubernetescrd kubernetes kubernetesendpoints", "kubernetes", "all",
		},
		"two clusters": {
			&static.KubernetesCRD{Endpoint: here, Namespaces: []string{"shop"}}, &static.KubernetesIngress{Endpoint: there},
			"kubernetescrd kubernetes kubernetesendpoints kubernetesendpoints2", "kubernetes kubernetes2", "shop all",
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := assemble(t, test.crd, test.ingress)
			var entries, sources, scopes []string
			for _, entry := range all.Entries() {
				entries = append(entries, entry.Name)
				if !entry.Required {
					t.Errorf("%s is not required", entry.Name)
				}
			}
			for _, one := range all.order {
				sources = append(sources, one.Source())
				scope := strings.Join(one.namespaces, ",")
				if one.everywhere {
					scope = "all"
				}
				scopes = append(scopes, scope)
			}
			got := []string{strings.Join(entries, " "), strings.Join(sources, " "), strings.Join(scopes, " ")}
			if diff := cmp.Diff([]string{test.entries, test.sources, test.scopes}, got); diff != "" {
				t.Errorf("entries, sources and scopes (-want +got):\n%s", diff)
			}
			all.Publish(nil)
		})
	}
}

// TestAClusterGetsItsOwnVerdicts demands that no cluster gets verdicts of what another one declared.
func TestAClusterGetsItsOwnVerdicts(t *testing.T) {
	all := assemble(t, &static.KubernetesCRD{Endpoint: "http://127.0.0.1:1"},
		&static.KubernetesIngress{Endpoint: "http://127.0.0.1:2"})
	custom, ingresses := &dynamic.Configuration{}, &dynamic.Configuration{}
	state := provider.State{Included: map[string]*dynamic.Configuration{
		"kubernetescrd": custom, "kubernetes": ingresses,
		"file": {},
	}, Settled: true}
	for i, want := range []*dynamic.Configuration{custom, ingresses} {
		view := state.Of(all.order[i].readers)
		if len(view.Included) != 1 || view.Included[all.order[i].readers[0]] != want || !view.Settled {
			t.Errorf("cluster %d is shown %+v", i, view)
		}
	}
}

func TestNewNamesTheOption(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("KUBECONFIG", "")
	for name, options := range map[string]Options{
		"providers.kubernetesCRD":     {CRD: &static.KubernetesCRD{}},
		"providers.kubernetesIngress": {Ingress: &static.KubernetesIngress{}},
	} {
		options.Metrics, options.Logger = metrics.New(metrics.Options{EntryPoints: true}), telemetry.Discard{}
		if _, err := New(options); err == nil || !strings.HasPrefix(err.Error(), name+": ") {
			t.Errorf("error %v, want one that begins with %s", err, name)
		}
	}
}
