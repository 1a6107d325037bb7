package deploy

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// injectorNames are the objects of the injector.
func injectorOf(all objects) objects {
	some := objects{}
	for key, one := range all {
		if strings.Contains(key, "injector") {
			some[key] = one
		}
	}
	return some
}

// TestChartInjectorMatchesTheManifests compares what the chart and deploy/kubernetes/injector install; the options are
// in a file there, and in flags here.
func TestChartInjectorMatchesTheManifests(t *testing.T) {
	t.Parallel()
	chart := injectorOf(plain(t, render(t, `injector={"enabled":true,"networkPolicy":{"enabled":true}}`)))
	delete(chart, "ConfigMap sluice/sluice-injector-options")
	manifests := objects{}
	for _, file := range []string{
		"injector/serviceaccount", "injector/rbac", "injector/configuration", "injector/service", "injector/deployment",
		"injector/webhook", "injector-networkpolicy/networkpolicy",
	} {
		for key, one := range parse(t, file, read(t, "../../deploy/kubernetes/"+file+".yaml")) {
			manifests[key] = one
		}
	}
	manifests = plain(t, manifests)
	for _, all := range []objects{chart, manifests} {
		spec, _ := all["Deployment sluice/sluice-injector"].at("spec", "template", "spec").(map[string]any)
		container, _ := object(spec).at("containers", 0).(map[string]any)
		delete(container, "args")
		delete(container, "image")
		spec["volumes"] = len(object(spec).list("volumes")) > 0
		delete(container, "volumeMounts")
	}
	if diff := cmp.Diff(manifests, chart); diff != "" {
		t.Errorf("(-deploy/kubernetes/injector +chart)\n%s", diff)
	}
}

// TestChartInjectorRights lists every right of the injector.
func TestChartInjectorRights(t *testing.T) {
	t.Parallel()
	cluster := []string{
		"create events", "list mutatingwebhookconfigurations.admissionregistration.k8s.io sluice-injector",
		"patch events", "patch mutatingwebhookconfigurations.admissionregistration.k8s.io sluice-injector",
		"watch mutatingwebhookconfigurations.admissionregistration.k8s.io sluice-injector",
	}
	secrets := []string{
		"create secrets", "get secrets sluice-injector-ca", "list secrets sluice-injector-ca",
		"update secrets sluice-injector-ca", "watch secrets sluice-injector-ca",
	}
	leases := []string{
		"create leases.coordination.k8s.io", "delete leases.coordination.k8s.io", "list leases.coordination.k8s.io",
		"patch leases.coordination.k8s.io",
	}
	enforced := []string{`injector.enabled=true`, `injector.enforce={"enabled":true,"namespace":"shop"}`}
	files := []string{`injector.enabled=true`, `injector.tlsSecret="certificate"`}
	for name, test := range map[string]struct {
		values []string
		want   map[string][]string
	}{
		"an authority of its own": {[]string{`injector.enabled=true`}, map[string][]string{
			"ClusterRole /sluice-injector": cluster, "Role sluice/sluice-injector": secrets,
		}},
		"enforced": {enforced, map[string][]string{
			"ClusterRole /sluice-injector": cluster, "Role sluice/sluice-injector": slices.Sorted(
				slices.Values(slices.Concat(secrets, leases))), "Role shop/sluice-injector-canary": {"create pods"},
		}},
		"a certificate from elsewhere": {files, map[string][]string{"ClusterRole /sluice-injector": cluster}},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string][]string{}
			for key, one := range injectorOf(render(t, test.values...)) {
				if strings.HasPrefix(key, "Role ") || strings.HasPrefix(key, "ClusterRole ") {
					got[key] = rights(t, one)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestChartInjector changes what is registered and the options.
func TestChartInjector(t *testing.T) {
	options := func(t *testing.T, all objects) any {
		t.Helper()
		for key, one := range all {
			if strings.HasSuffix(key, "-injector-options") {
				var configuration struct{ Injector map[string]any }
				if err := yaml.Unmarshal([]byte(one.text("data", "sluice.yaml")), &configuration); err != nil {
					t.Fatal(err)
				}
				return configuration.Injector
			}
		}
		t.Fatal("there are no options")
		return nil
	}
	for name, test := range map[string]variant{
		"options": {
			[]string{
				`injector={"enabled":true,"onError":"deny","tlsSecret":"a",` +
					`"enforce":{"enabled":true,"namespace":"shop","labels":{"a.b/c":"d"}}}`,
			}, options, map[string]any{
				"config": "/etc/sluice-inject", "statusAddress": ":8080", "onError": "deny", "service": "sluice-injector",
				"secret": "sluice-injector-ca", "webhookConfiguration": "sluice-injector",
				"tls":     map[string]any{"certFile": "/etc/sluice-tls/tls.crt", "keyFile": "/etc/sluice-tls/tls.key"},
				"enforce": map[string]any{"namespace": "shop", "labels": map[string]any{"a.b/c": "d"}},
			},
		},
		"the namespaces": {
			[]string{`injector.enabled=true`, `injector.namespaceSelector.matchLabels={"inject":"yes"}`},
			func(_ *testing.T, all objects) any {
				webhook := all["MutatingWebhookConfiguration /sluice-injector"]
				return said(webhook.at("webhooks", 0, "namespaceSelector", "matchLabels", "inject"),
					webhook.at("webhooks", 0, "namespaceSelector", "matchExpressions", 0, "values"))
			}, "yes [sluice kube-system kube-public kube-node-lease]",
		},
		"no NetworkPolicy": {
			[]string{`injector.enabled=true`},
			func(_ *testing.T, all objects) any { return all["NetworkPolicy sluice/sluice-injector"] == nil }, true,
		},
		"peers": {
			[]string{`injector={"enabled":true,"networkPolicy":{"enabled":true,"from":[{"ipBlock":{"cidr":"10.0.0.1/32"}}],` +
				`"metricsFrom":[{"podSelector":{}}]}}`},
			func(_ *testing.T, all objects) any {
				policy := all["NetworkPolicy sluice/sluice-injector"]
				return said(policy.at("spec", "ingress", 0, "ports", 0, "port"), policy.at("spec", "ingress", 0, "from"),
					policy.at("spec", "ingress", 1, "ports", 0, "port"), policy.at("spec", "ingress", 1, "from"))
			}, "https [map[ipBlock:map[cidr:10.0.0.1/32]]] status [map[podSelector:map[]]]",
		},
		"another namespace": {
			[]string{`injector.enabled=true`, `namespaceOverride="other"`},
			func(_ *testing.T, all objects) any {
				return said(all["MutatingWebhookConfiguration /sluice-injector-other"].
					at("webhooks", 0, "clientConfig", "service", "namespace"))
			}, "other",
		},
	} {
		t.Run(name, test.check)
	}
	if _, err := try(t, `injector={"enabled":true,"enforce":{"enabled":true}}`); err == nil {
		t.Error("enforce without a namespace is accepted")
	}
}
