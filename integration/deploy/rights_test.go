package deploy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// readable is what Sluice reads in a namespace, by group.
var readable = map[string][]string{
	"":                    {"configmaps", "endpoints", "pods", "secrets", "services"},
	"env.alibaba.com":     {"virtualenvironments"},
	"discovery.k8s.io":    {"endpointslices"},
	"networking.k8s.io":   {"ingresses"},
	"traefik.io":          kinds,
	"traefik.containo.us": kinds,
	"sluice.dev":          kinds,
}

var kinds = []string{
	"ingressroutes", "ingressroutetcps", "ingressrouteudps", "middlewares", "middlewaretcps", "serverstransports",
	"serverstransporttcps", "tlsoptions", "tlsstores", "traefikservices",
}

// rights lists what rules allow, one "verb resource.group" each, with the name for named objects.
func rights(t *testing.T, role object) []string {
	t.Helper()
	found := map[string]bool{}
	for _, rule := range role.list("rules") {
		names := strings.Join(rule.words("resourceNames"), ",")
		if names != "" {
			names = " " + names
		}
		for _, group := range rule.words("apiGroups") {
			for _, resource := range rule.words("resources") {
				for _, verb := range rule.words("verbs") {
					right := verb + " " + strings.TrimSuffix(resource+"."+group, ".") + names
					if found[right] {
						t.Errorf("%s: %q is granted twice", role.key(), right)
					}
					found[right] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// needed is what Sluice needs in a namespace, and cluster-wide with what has no namespace.
func needed(cluster bool) []string {
	var all []string
	reads := func(resource string) {
		all = append(all, "list "+resource, "watch "+resource)
	}
	for group, resources := range readable {
		for _, resource := range resources {
			reads(strings.TrimSuffix(resource+"."+group, "."))
		}
	}
	if cluster {
		reads("nodes")
		reads("ingressclasses.networking.k8s.io")
	}
	for _, kind := range kinds {
		all = append(all, "patch "+kind+"/status.sluice.dev")
	}
	all = append(all, "patch ingresses/status.networking.k8s.io", "patch virtualenvironments/status.env.alibaba.com",
		"create events", "patch events")
	slices.Sort(all)
	return all
}

// TestRightsAreThoseThatAreUsed lists every right. A new one is added here, in docs/kubernetes.md, and in both
// ways of installing.
func TestRightsAreThoseThatAreUsed(t *testing.T) {
	cluster, one := build(t, manifests), build(t, namespaced)
	leader := []string{
		"create leases.coordination.k8s.io", "get leases.coordination.k8s.io sluice",
		"update leases.coordination.k8s.io sluice",
	}
	certificates := []string{
		"create leases.coordination.k8s.io", "create secrets", "delete secrets",
		"get leases.coordination.k8s.io sluice-certificates", "get secrets", "list secrets",
		"update leases.coordination.k8s.io sluice-certificates", "update secrets", "watch secrets",
	}
	tests := []struct {
		role object
		want []string
	}{
		{build(t, manifests+"/certificates")["Role sluice/sluice-certificates"], certificates},
		{render(t, "certificates.storage.kubernetes=true")["Role sluice/sluice-certificates"], certificates},
		{cluster["ClusterRole /sluice"], needed(true)},
		{cluster["Role sluice/sluice-leader"], leader},
		{one["Role shop/sluice"], needed(false)},
		{one["Role sluice/sluice-leader"], leader},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, rights(t, test.role)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", test.role.key(), diff)
		}
	}
	if len(cluster)-len(cluster.without("ClusterRole", "Role")) != 2 ||
		len(one)-len(one.without("ClusterRole", "Role")) != 2 {
		t.Error("there are other roles")
	}
}

// TestRightsOfTheGatewayAPI lists what the chart and the component of kustomize add for providers.kubernetesGateway:
// Services are written with the exposure service alone.
func TestRightsOfTheGatewayAPI(t *testing.T) {
	const group = ".gateway.networking.k8s.io"
	const definition = " customresourcedefinitions.apiextensions.k8s.io gatewayclasses" + group
	added := []string{
		"get gatewayclasses" + group, "list gatewayclasses" + group, "list namespaces", "list referencegrants" + group,
		"patch gatewayclasses" + group, "patch gatewayclasses/status" + group, "watch gatewayclasses" + group,
		"watch namespaces", "watch referencegrants" + group, "list" + definition, "watch" + definition,
	}
	for _, kind := range []string{
		"gateways", "listenersets", "httproutes", "grpcroutes", "tlsroutes", "tcproutes", "udproutes", "backendtlspolicies",
	} {
		added = append(added, "get "+kind+group, "list "+kind+group, "watch "+kind+group, "patch "+kind+"/status"+group)
	}
	services := []string{
		"create services", "patch services", "delete services", "create endpointslices.discovery.k8s.io",
		"patch endpointslices.discovery.k8s.io",
	}
	for exposure, further := range map[string][]string{"service": services, "node": nil, "pool": nil} {
		role := render(t, `configuration.providers.kubernetesGateway.exposure="`+exposure+`"`)["ClusterRole /sluice"]
		want := slices.Sorted(slices.Values(slices.Concat(needed(true), added, further)))
		if diff := cmp.Diff(want, rights(t, role)); diff != "" {
			t.Errorf("exposure %s (-want +got)\n%s", exposure, diff)
		}
	}
	some := render(t, `configuration.providers.kubernetesGateway.exposure="node"`, `namespaces=["shop"]`)
	inShop, inCluster := needed(false), []string(nil)
	for _, right := range added {
		if strings.Contains(right, " gatewayclasses") || strings.HasSuffix(right, " namespaces") {
			inCluster = append(inCluster, right)
		} else {
			inShop = append(inShop, right)
		}
	}
	slices.Sort(inShop)
	slices.Sort(inCluster)
	if diff := cmp.Diff(inCluster, rights(t, some["ClusterRole /sluice"])); diff != "" {
		t.Errorf("with namespaces, in the cluster (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(inShop, rights(t, some["Role shop/sluice"])); diff != "" {
		t.Errorf("with namespaces, in one of them (-want +got)\n%s", diff)
	}
	component := build(t, manifests+"/gateway")
	diff := cmp.Diff(slices.Sorted(slices.Values(added)), rights(t, component["ClusterRole /sluice-gateway"]))
	if diff != "" {
		t.Errorf("deploy/kubernetes/gateway (-want +got)\n%s", diff)
	}
	slices.Sort(services)
	if diff := cmp.Diff(services, rights(t, component["ClusterRole /sluice-gateway-services"])); diff != "" {
		t.Errorf("deploy/kubernetes/gateway, Services (-want +got)\n%s", diff)
	}
	merged := build(t, manifests+"/gateway-merged")
	if diff := cmp.Diff(component["ClusterRole /sluice-gateway"], merged["ClusterRole /sluice-gateway"]); diff != "" {
		t.Errorf("deploy/kubernetes/gateway-merged (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(services, rights(t, merged["Role sluice/sluice-gateway"])); diff != "" || len(merged) != 4 {
		t.Errorf("deploy/kubernetes/gateway-merged has %d objects; rights (-want +got)\n%s", len(merged), diff)
	}
}

// TestRightsInTheOwnNamespace lists what the chart grants in Sluice's own namespace for Gateways: it reads the pods of
// Sluice and a shared Service where no other Role lets it, and writes a shared Service there and nowhere else.
func TestRightsInTheOwnNamespace(t *testing.T) {
	pods := []string{"list pods", "watch pods"}
	reads := []string{"list services", "watch services"}
	writes := []string{
		"create endpointslices.discovery.k8s.io", "create services", "delete services",
		"patch endpointslices.discovery.k8s.io", "patch services",
	}
	for name, test := range map[string]struct {
		exposure, namespaces string
		merged               bool
		want                 []string
	}{
		"a Service for each":                {"service", `[]`, false, nil},
		"one for all":                       {"service", `[]`, true, writes},
		"in some namespaces":                {"service", `["shop"]`, false, pods},
		"in some namespaces, one for all":   {"service", `["shop"]`, true, slices.Concat(pods, reads, writes)},
		"in these and its own":              {"service", `["shop","sluice"]`, false, nil},
		"in these and its own, one for all": {"service", `["shop","sluice"]`, true, writes},
		"on nodes":                          {"node", `["shop"]`, true, pods},
		"out of a pool":                     {"pool", `["shop"]`, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := render(t, fmt.Sprintf(`configuration.providers.kubernetesGateway={"exposure":%q,"mergeGateways":%v}`,
				test.exposure, test.merged), "namespaces="+test.namespaces)
			var got []string
			if role := all["Role sluice/sluice-gateway"]; role != nil {
				got = rights(t, role)
			}
			if diff := cmp.Diff(slices.Sorted(slices.Values(test.want)), got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if bound := all["RoleBinding sluice/sluice-gateway"] != nil; bound != (test.want != nil) {
				t.Errorf("bound: %v", bound)
			}
			for key, role := range all {
				if elsewhere := strings.HasPrefix(key, "ClusterRole /") || strings.HasPrefix(key, "Role shop/"); elsewhere &&
					test.merged && slices.Contains(rights(t, role), "create services") {
					t.Errorf("%s may create Services", key)
				}
			}
		})
	}
}

// TestChartOfCertificates compares what the chart adds with the component of kustomize.
func TestChartOfCertificates(t *testing.T) {
	t.Parallel()
	added := render(t, "certificates.storage.kubernetes=true")
	for key := range render(t) {
		delete(added, key)
	}
	if diff := cmp.Diff(plain(t, build(t, manifests+"/certificates")), plain(t, added)); diff != "" {
		t.Errorf("(-deploy/kubernetes/certificates +chart)\n%s", diff)
	}
	without := render(t, "certificates.storage.kubernetes=true", "rbac.create=false")
	if without["Role sluice/sluice-certificates"] != nil {
		t.Error("there is a Role without rbac.create")
	}
}

// TestBindingsGiveRightsToSluiceAlone checks the subjects of bindings.
func TestBindingsGiveRightsToSluiceAlone(t *testing.T) {
	both(t, func(t *testing.T, all objects) {
		var bound int
		for key, binding := range all {
			role, isBinding := strings.CutSuffix(binding.text("kind"), "Binding")
			if !isBinding {
				continue
			}
			bound++
			want := []any{map[string]any{"kind": "ServiceAccount", "name": "sluice", "namespace": "sluice"}}
			if diff := cmp.Diff(any(want), binding.at("subjects")); diff != "" {
				t.Errorf("%s: subjects (-want +got)\n%s", key, diff)
			}
			reference := map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": binding.text("metadata",
				"name")}
			if diff := cmp.Diff(any(reference), binding.at("roleRef")); diff != "" {
				t.Errorf("%s: role (-want +got)\n%s", key, diff)
			}
			if all[strings.Replace(key, "Binding", "", 1)] == nil {
				t.Errorf("%s: there is no such role", key)
			}
		}
		if bound != 2 {
			t.Errorf("%d bindings", bound)
		}
	})
}
