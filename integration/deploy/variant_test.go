package deploy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// configuration returns the static configuration of a release.
func configuration(t *testing.T, all objects) object {
	t.Helper()
	return decode(t, "sluice.yaml", []byte(all.the(t, "ConfigMap").text("data", "sluice.yaml")))
}

// pod returns the only container's pod of a release.
func pod(t *testing.T, all objects) object {
	t.Helper()
	fields, _ := all.the(t, "DaemonSet").at("spec", "template", "spec").(map[string]any)
	return fields
}

func TestChartBehindAService(t *testing.T) {
	t.Parallel()
	all := render(t, `exposure="service"`, `service.annotations={"example.com/class":"edge"}`)
	service := all.the(t, "Service")
	var ports []string
	for _, port := range service.list("spec", "ports") {
		ports = append(ports, fmt.Sprintf("%v to %s", port.at("port"), port.text("targetPort")))
	}
	if diff := cmp.Diff([]string{"80 to web", "443 to websecure"}, ports); diff != "" {
		t.Errorf("ports of the Service (-want +got)\n%s", diff)
	}
	set := all.the(t, "DaemonSet")
	if diff := cmp.Diff(set.at("spec", "selector", "matchLabels"), service.at("spec", "selector")); diff != "" {
		t.Errorf("selectors (-DaemonSet +Service)\n%s", diff)
	}
	for _, port := range set.list("spec", "template", "spec", "containers", 0, "ports") {
		if port.at("hostPort") != nil {
			t.Errorf("the port %s is still a port of the node", port.text("name"))
		}
	}
	if got := set.at("spec", "updateStrategy", "rollingUpdate", "maxSurge"); got != 1 {
		t.Errorf("maxSurge is %v: without host ports the new pod can come first", got)
	}
	if got := service.text("metadata", "annotations", "example.com/class"); got != "edge" {
		t.Errorf("annotation %q", got)
	}
	published := configuration(t, all).text("providers", "kubernetesIngress", "ingressEndpoint", "publishedService")
	if published != "sluice/sluice" {
		t.Errorf("the status of Ingresses shows the addresses of %q", published)
	}
}

// TestChartForIngressNGINX sees the entrypoints, the namespaces and the rights of the provider, and the Service whose
// addresses it publishes.
func TestChartForIngressNGINX(t *testing.T) {
	t.Parallel()
	const on = "configuration.providers.kubernetesIngressNGINX={}"
	for name, test := range map[string]struct {
		values []string
		want   map[string]any
		rights []string
	}{
		"all namespaces": {
			[]string{on},
			map[string]any{"httpEntryPoint": "web", "httpsEntryPoint": "websecure"},
			[]string{"list ingressclasses.networking.k8s.io", "list nodes"},
		},
		"some namespaces, behind a Service": {
			[]string{on, `exposure="service"`, `namespaces=["shop","blog"]`},
			map[string]any{
				"httpEntryPoint": "web", "httpsEntryPoint": "websecure", "watchNamespace": "shop,blog",
				"publishService": "sluice/sluice",
			},
			[]string{"list ingressclasses.networking.k8s.io"},
		},
		"namespaces by their labels": {
			[]string{`configuration.providers.kubernetesIngressNGINX={"watchNamespaceSelector":"edge=yes"}`},
			map[string]any{
				"httpEntryPoint": "web", "httpsEntryPoint": "websecure", "watchNamespaceSelector": "edge=yes",
			},
			[]string{"list ingressclasses.networking.k8s.io", "list namespaces", "list nodes"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := render(t, test.values...)
			if diff := cmp.Diff(test.want, configuration(t, all).at("providers", "kubernetesIngressNGINX")); diff != "" {
				t.Errorf("the provider's options (-want +got)\n%s", diff)
			}
			granted := rights(t, all["ClusterRole /sluice"])
			for _, right := range []string{"list ingressclasses.networking.k8s.io", "list namespaces", "list nodes"} {
				if slices.Contains(granted, right) != slices.Contains(test.rights, right) {
					t.Errorf("%q is granted: %t", right, slices.Contains(granted, right))
				}
			}
		})
	}
}

func TestChartForNamespaces(t *testing.T) {
	t.Parallel()
	all := render(t, `namespaces=["shop","blog"]`)
	var got []string
	for key, one := range all {
		if strings.Contains(one.text("apiVersion"), "rbac") {
			got = append(got, key)
		}
	}
	slices.Sort(got)
	want := []string{
		"Role blog/sluice", "Role shop/sluice", "Role sluice/sluice-leader",
		"RoleBinding blog/sluice", "RoleBinding shop/sluice", "RoleBinding sluice/sluice-leader",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rights (-want +got)\n%s", diff)
	}
	for _, provider := range []string{"kubernetesCRD", "kubernetesIngress"} {
		options := configuration(t, all).at("providers", provider)
		want := map[string]any{"namespaces": []any{"shop", "blog"}, "disableClusterScopeResources": true}
		if diff := cmp.Diff(any(want), options); diff != "" {
			t.Errorf("%s (-want +got)\n%s", provider, diff)
		}
	}
}

// said puts values into one line.
func said(values ...any) string { return strings.TrimSpace(fmt.Sprintln(values...)) }

// TestTheServiceOfAnotherNamespaceMayBeRead looks for the one right that is needed when the Service whose addresses are
// published is in none of the namespaces that are read.
func TestTheServiceOfAnotherNamespaceMayBeRead(t *testing.T) {
	t.Parallel()
	reads := []string{"list services sluice", "watch services sluice"}
	for namespaces, want := range map[string][]string{`["shop"]`: reads, `["shop","sluice"]`: nil, `[]`: nil} {
		role := render(t, `exposure="service"`, "namespaces="+namespaces)["Role sluice/sluice-leader"]
		services := slices.DeleteFunc(rights(t, role), func(right string) bool { return strings.Contains(right, "lease") })
		if diff := cmp.Diff(want, services, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("namespaces %s (-want +got)\n%s", namespaces, diff)
		}
	}
}

// variant is one value that is changed, and what must then show where.
type variant struct {
	values []string
	got    func(*testing.T, objects) any
	want   any
}

func (v variant) check(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(v.want, v.got(t, render(t, v.values...))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestChartConfiguration changes values that show in the static configuration.
func TestChartConfiguration(t *testing.T) {
	tests := map[string]variant{
		"a provider less": {
			[]string{`configuration.providers.kubernetesIngress=null`, `exposure="service"`, `namespaces=["shop"]`},
			func(t *testing.T, all objects) any { return configuration(t, all).at("providers", "kubernetesIngress") }, nil,
		},
		"an option more": {
			[]string{`configuration.entryPoints.web={"transport":{"keepAliveMaxRequests":5}}`},
			func(t *testing.T, all objects) any {
				web := configuration(t, all)
				return said(web.at("entryPoints", "web", "address"), web.at("entryPoints", "web", "transport",
					"keepAliveMaxRequests"))
			}, ":8000 5",
		},
		"an entrypoint more": {
			[]string{`ports.intern={"port":9000}`},
			func(t *testing.T, all objects) any {
				return configuration(t, all).at("entryPoints", "intern", "address")
			}, ":9000",
		},
		"a longer life": {
			[]string{`lifeCycle={"requestAcceptGraceTimeout":20,"graceTimeOut":300}`},
			func(t *testing.T, all objects) any { return pod(t, all).at("terminationGracePeriodSeconds") }, 325,
		},
		"a configuration of one's own": {
			[]string{`existingConfigMap="mine"`},
			func(t *testing.T, all objects) any {
				return said(pod(t, all).at("volumes", 0, "configMap", "name"), len(all)-len(all.without("ConfigMap")))
			}, "mine 0",
		},
	}
	for name, test := range tests {
		t.Run(name, test.check)
	}
}

// TestChartObjects changes values that show in the pod and in what surrounds it.
func TestChartObjects(t *testing.T) {
	tests := map[string]variant{
		"another image": {
			[]string{`image={"repository":"example/sluice","tag":"1.2"}`},
			func(t *testing.T, all objects) any { return pod(t, all).at("containers", 0, "image") }, "example/sluice:1.2",
		},
		"an account of one's own": {
			[]string{`serviceAccount={"create":false,"name":"edge"}`},
			func(t *testing.T, all objects) any {
				return said(pod(t, all).at("serviceAccountName"), all.the(t, "ClusterRoleBinding").at("subjects", 0, "name"),
					len(all)-len(all.without("ServiceAccount")))
			}, "edge edge 0",
		},
		"no rights": {
			[]string{`rbac.create=false`},
			func(_ *testing.T, all objects) any {
				return len(all) - len(all.without("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"))
			}, 0,
		},
		"the default class": {
			[]string{`ingressClass.isDefault=true`},
			func(t *testing.T, all objects) any {
				return all.the(t, "IngressClass").at("metadata", "annotations", "ingressclass.kubernetes.io/is-default-class")
			}, "true",
		},
		"nodes": {
			[]string{`nodeSelector={"edge":"yes"}`, `tolerations=[{"key":"edge"}]`, `affinity={"nodeAffinity":{}}`},
			func(t *testing.T, all objects) any {
				p := pod(t, all)
				return said(p.at("nodeSelector", "edge"), p.at("tolerations", 0, "key"), p.at("affinity"))
			}, "yes edge map[nodeAffinity:map[]]",
		},
		"resources": {
			[]string{`resources={"limits":{"memory":"1Gi"}}`},
			func(t *testing.T, all objects) any {
				return pod(t, all).at("containers", 0, "resources", "limits", "memory")
			}, "1Gi",
		},
		"what the pod also gets": {
			[]string{
				`env=[{"name":"A","value":"b"}]`, `args=["--log.level=DEBUG"]`, `imagePullSecrets=[{"name":"pull"}]`,
				`volumes=[{"name":"v","emptyDir":{}}]`, `volumeMounts=[{"name":"v","mountPath":"/v"}]`,
			},
			func(t *testing.T, all objects) any {
				p := pod(t, all)
				return said(p.at("containers", 0, "env", 2, "name"), p.at("containers", 0, "args", 1), p.at("imagePullSecrets", 0,
					"name"),
					p.at("volumes", 2, "name"), p.at("containers", 0, "volumeMounts", 2, "name"))
			}, "A --log.level=DEBUG pull v v",
		},
	}
	for name, test := range tests {
		t.Run(name, test.check)
	}
}

// TestAnotherConfigurationMeansOtherPods demands that helm replaces the pods when the configuration changes, since it
// is read once.
func TestAnotherConfigurationMeansOtherPods(t *testing.T) {
	t.Parallel()
	sum := func(values ...string) string {
		return render(t, values...).the(t, "DaemonSet").text("spec", "template", "metadata", "annotations",
			"checksum/configuration")
	}
	if one, other := sum(), sum(`configuration.log.level="DEBUG"`); one == "" || one == other {
		t.Errorf("the checksums are %q and %q", one, other)
	}
	if one, other := sum(), sum(`image.tag="2"`); one != other {
		t.Error("the checksum depends on something else than the configuration")
	}
}
