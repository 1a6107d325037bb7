package deploy

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// TestChartPorts changes the ports of pods and Services.
func TestChartPorts(t *testing.T) {
	tests := map[string]variant{
		"a port of the node beside a Service": {
			[]string{`exposure="service"`, `ports.web={"port":8000,"exposedPort":80,"hostPort":8080,"hostIP":"192.0.2.1"}`},
			func(t *testing.T, all objects) any {
				var web object
				for _, port := range pod(t, all).list("containers", 0, "ports") {
					if port.text("name") == "web" {
						web = port
					}
				}
				return said(web.at("hostPort"), web.at("hostIP"), web.at("containerPort"))
			}, "8080 192.0.2.1 8000",
		},
		"options of a Service's port": {
			[]string{
				`exposure="service"`, `service.type="NodePort"`,
				`ports.web={"port":8000,"exposedPort":80,"nodePort":30080,"targetPort":"websecure","appProtocol":"http"}`,
			},
			func(t *testing.T, all objects) any {
				port := all.the(t, "Service").list("spec", "ports")[0]
				return said(port.at("port"), port.at("nodePort"), port.at("targetPort"), port.at("appProtocol"))
			}, "80 30080 websecure http",
		},
		"a port of UDP": {
			[]string{`exposure="service"`, `ports.dns={"port":5353,"exposedPort":53,"protocol":"UDP"}`, `networkPolicy.enabled=true`},
			func(t *testing.T, all objects) any {
				var found []any
				for _, list := range [][]object{
					pod(t, all).list("containers", 0, "ports"), all.the(t, "Service").list("spec", "ports"),
				} {
					for _, port := range list {
						if port.text("name") == "dns" {
							found = append(found, port.at("protocol"))
						}
					}
				}
				address := regexp.MustCompile(`address: .*:5353/udp`).FindString(said(all.the(t, "ConfigMap").at("data")))
				return said(append(found, address != "",
					all.the(t, "NetworkPolicy").at("spec", "ingress", 0, "ports", 0, "protocol"))...)
			}, "UDP UDP true UDP",
		},
		"HTTP/3": {
			[]string{
				`exposure="service"`, `ports.websecure={"port":8443,"exposedPort":443,"hostPort":4443,"http3":true}`,
				`networkPolicy.enabled=true`,
			},
			func(t *testing.T, all objects) any {
				var found []any
				for _, list := range [][]object{
					pod(t, all).list("containers", 0, "ports"), all.the(t, "Service").list("spec", "ports"),
					all.the(t, "NetworkPolicy").list("spec", "ingress", 0, "ports"),
				} {
					for _, port := range list {
						if port.text("protocol") == "UDP" {
							found = append(found, port.at("containerPort"), port.at("hostPort"), port.at("port"), port.at("targetPort"))
						}
					}
				}
				advertised := regexp.MustCompile(`advertisedPort: \d+`).FindString(said(all.the(t, "ConfigMap").at("data")))
				return said(append(found, advertised)...)
			}, "8443 4443 <nil> <nil> <nil> <nil> 443 8443 <nil> <nil> 8443 <nil> advertisedPort: 443",
		},
		"options of a Service": {
			[]string{
				`exposure="service"`,
				`service={"loadBalancerIP":"192.0.2.1","loadBalancerSourceRanges":["10.0.0.0/8"],"labels":{"a":"b"},
				"externalIPs":["192.0.2.2"],"spec":{"sessionAffinity":"ClientIP","externalTrafficPolicy":"Cluster"}}`,
			},
			func(t *testing.T, all objects) any {
				service := all.the(t, "Service")
				return said(service.at("spec", "loadBalancerIP"), service.at("spec", "loadBalancerSourceRanges", 0),
					service.at("metadata", "labels", "a"), service.at("spec", "externalIPs", 0),
					service.at("spec", "sessionAffinity"), service.at("spec", "externalTrafficPolicy"))
			}, "192.0.2.1 10.0.0.0/8 b 192.0.2.2 ClientIP Cluster",
		},
		"a second Service": {
			[]string{`exposure="service"`, `additionalServices={"internal":{"type":"ClusterIP","ports":["web"]}}`},
			func(_ *testing.T, all objects) any {
				service := all["Service sluice/sluice-internal"]
				return said(service.at("spec", "type"), len(service.list("spec", "ports")),
					service.at("spec", "ports", 0, "name"), service.at("spec", "externalTrafficPolicy"),
					len(all["Service sluice/sluice"].list("spec", "ports")))
			}, "ClusterIP 1 web <nil> 2",
		},
	}
	for name, test := range tests {
		t.Run(name, test.check)
	}
}

// TestChartXDS publishes over xDS.
func TestChartXDS(t *testing.T) {
	const secured = `xds={"enabled":true,"port":18001,"tlsSecret":"cert","clientCASecret":"clients","tokenReview":true,
		"clients":[{"identity":"spiffe://a/ns/shop/sa/*","namespaces":["shop"]}]}`
	service := func(_ *testing.T, all objects) any {
		service := all["Service sluice/sluice-xds"]
		return said(service.at("spec", "internalTrafficPolicy"), service.at("spec", "ports", 0, "port"),
			service.at("spec", "ports", 0, "targetPort"))
	}
	tests := map[string]variant{
		"a Service on each node": {[]string{secured}, service, "Local 18001 xds"},
		"a Service of a Deployment": {
			[]string{`workload.kind="Deployment"`, `exposure="service"`, `xds={"enabled":true,"allowInsecure":true}`},
			service, "Cluster 18000 xds",
		},
		"the static option": {
			[]string{secured},
			func(t *testing.T, all objects) any {
				var configuration struct{ XDS map[string]any }
				text := all["ConfigMap sluice/sluice"].text("data", "sluice.yaml")
				if err := yaml.Unmarshal([]byte(text), &configuration); err != nil {
					t.Fatal(err)
				}
				return configuration.XDS
			},
			map[string]any{
				"address": ":18001", "tokenReview": map[string]any{},
				"tls": map[string]any{
					"certFile": "/etc/sluice-xds/tls/tls.crt", "keyFile": "/etc/sluice-xds/tls/tls.key",
					"caFiles": []any{"/etc/sluice-xds/clients/ca.crt"},
				},
				"clients": []any{map[string]any{"identity": "spiffe://a/ns/shop/sa/*", "namespaces": []any{"shop"}}},
			},
		},
		"the right to review tokens": {
			[]string{secured},
			func(_ *testing.T, all objects) any {
				return said(all["ClusterRole /sluice-xds"].at("rules", 0, "resources", 0),
					all["ClusterRoleBinding /sluice-xds"].at("roleRef", "name"))
			}, "tokenreviews sluice-xds",
		},
		"the network policy": {
			[]string{secured, `networkPolicy={"enabled":true,"xdsFrom":[{"podSelector":{}}]}`},
			func(t *testing.T, all objects) any {
				rule := all.the(t, "NetworkPolicy").list("spec", "ingress")[1]
				return said(rule.at("ports", 0, "port"), len(rule.list("from")))
			}, "18001 1",
		},
	}
	for name, test := range tests {
		t.Run(name, test.check)
	}
}

// TestChartSurroundings adds the objects around the pods.
func TestChartSurroundings(t *testing.T) {
	tests := map[string]variant{
		"a file provider": {
			[]string{`fileProvider={"enabled":true,"content":{"http":{"routers":{"a":{"rule":"Path(` + "`/a`" + `)","service":"b"}}}}}`},
			func(t *testing.T, all objects) any {
				text := all["ConfigMap sluice/sluice-dynamic"].text("data", "dynamic.yaml")
				static := decode(t, "sluice.yaml", []byte(all["ConfigMap sluice/sluice"].text("data", "sluice.yaml")))
				mount := pod(t, all).list("containers", 0, "volumeMounts")[1]
				return said(decode(t, "dynamic.yaml", []byte(text)).at("http", "routers", "a", "service"),
					mount.text("mountPath"), static.at("providers", "file", "directory"))
			}, "b /etc/sluice.d /etc/sluice.d",
		},
		"the dashboard with users": {
			[]string{`dashboard={"enabled":true,"basicAuthSecret":"users","ipAllowList":["10.0.0.0/8"]}`},
			func(t *testing.T, all objects) any {
				route := all.the(t, "IngressRoute").list("spec", "routes")[0]
				return said(route.at("services", 0, "name"), route.at("middlewares", 0, "name"), route.at("middlewares", 1, "name"),
					all["Middleware sluice/sluice-dashboard-auth"].at("spec", "basicAuth", "secret"),
					all["Middleware sluice/sluice-dashboard-ip"].at("spec", "ipAllowList", "sourceRange", 0),
					configuration(t, all).at("api", "dashboard"))
			}, "api@internal sluice-dashboard-ip sluice-dashboard-auth users 10.0.0.0/8 true",
		},
		"a ServiceMonitor": {
			[]string{`metrics.serviceMonitor={"enabled":true,"labels":{"release":"prometheus"},"endpoint":{"interval":"30s"}}`},
			func(t *testing.T, all objects) any {
				monitor, service := all.the(t, "ServiceMonitor"), all.the(t, "Service")
				for name, value := range monitor.at("spec", "selector", "matchLabels").(map[string]any) {
					if got := service.at("metadata", "labels", name); got != value {
						t.Errorf("the Service has %s=%v and is not selected", name, got)
					}
				}
				return said(monitor.at("metadata", "labels", "release"), monitor.at("spec", "endpoints", 0, "interval"),
					monitor.at("spec", "endpoints", 0, "port"), service.at("spec", "ports", 0, "name"),
					service.at("spec", "ports", 0, "port"), service.at("spec", "clusterIP"))
			}, "prometheus 30s traefik traefik 8080 None",
		},
		"a NetworkPolicy": {
			[]string{`networkPolicy={"enabled":true,"metricsFrom":[{"namespaceSelector":{}}]}`},
			func(t *testing.T, all objects) any {
				policy := all.the(t, "NetworkPolicy")
				return said(policy.at("spec", "policyTypes"), policy.at("spec", "ingress", 0, "ports", 0, "port"),
					policy.at("spec", "ingress", 0, "ports", 1, "port"), policy.at("spec", "ingress", 0, "from"),
					policy.at("spec", "ingress", 1, "ports", 0, "port"), policy.at("spec", "ingress", 1, "from"))
			}, "[Ingress] 8000 8443 <nil> 8080 [map[namespaceSelector:map[]]]",
		},
		"TLS options and stores": {
			[]string{
				`tlsOptions={"default":{"minVersion":"VersionTLS13"}}`,
				`tlsStores={"default":{"defaultCertificate":{"secretName":"c"}}}`,
			},
			func(t *testing.T, all objects) any {
				return said(all.the(t, "TLSOption").at("spec", "minVersion"),
					all.the(t, "TLSStore").at("spec", "defaultCertificate", "secretName"))
			}, "VersionTLS13 c",
		},
		"further objects": {
			[]string{`extraObjects=[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"{{ .Release.Name }}-a"}},
				"apiVersion: v1\nkind: Secret\nmetadata:\n  name: b"]`},
			func(_ *testing.T, all objects) any {
				return said(all["Secret /sluice-a"] != nil, all["Secret /b"] != nil)
			}, "true true",
		},
		"aggregated roles": {
			[]string{`rbac.aggregateTo=["view","edit"]`},
			func(_ *testing.T, all objects) any {
				view, edit := all["ClusterRole /sluice-view"], all["ClusterRole /sluice-edit"]
				return said(view.at("metadata", "labels", "rbac.authorization.k8s.io/aggregate-to-view"),
					len(view.words("rules", 0, "verbs")), len(edit.words("rules", 0, "verbs")), len(edit.list("rules")))
			}, "true 3 8 1",
		},
	}
	for name, test := range tests {
		t.Run(name, test.check)
	}
}

// TestChartRules compares the PrometheusRule with the rules that are tested with Prometheus.
func TestChartRules(t *testing.T) {
	t.Parallel()
	all := render(t, `metrics.prometheusRule={"enabled":true,"labels":{"a":"b"},"additionalGroups":[{"name":"mine"}]}`)
	rule := all.the(t, "PrometheusRule")
	var want map[string]any
	if err := yaml.Unmarshal(read(t, "../../deploy/prometheus/rules.yaml"), &want); err != nil {
		t.Fatal(err)
	}
	groups := append(want["groups"].([]any), map[string]any{"name": "mine"})
	if diff := cmp.Diff(groups, rule.at("spec", "groups")); diff != "" {
		t.Errorf("groups (-deploy/prometheus/rules.yaml +chart; make generate copies the file)\n%s", diff)
	}
	if rule.at("metadata", "labels", "a") != "b" {
		t.Error("the label is missing")
	}
}
