package deploy

import (
	"fmt"
	"testing"
)

// deployment returns the pod of a release that runs as a Deployment.
func deployment(t *testing.T, all objects) object {
	t.Helper()
	fields, _ := all.the(t, "Deployment").at("spec", "template", "spec").(map[string]any)
	return fields
}

// TestChartWorkload changes the object that runs the pods, and what belongs to it.
func TestChartWorkload(t *testing.T) {
	behindService := []string{`workload.kind="Deployment"`, `exposure="service"`}
	tests := map[string]variant{
		"a Deployment": {
			append([]string{`workload.replicas=3`, `workload.revisionHistoryLimit=2`}, behindService...),
			func(t *testing.T, all objects) any {
				spec := all.the(t, "Deployment")
				return said(spec.at("spec", "replicas"), spec.at("spec", "revisionHistoryLimit"),
					spec.at("spec", "strategy", "rollingUpdate", "maxSurge"), len(all)-len(all.without("DaemonSet")))
			}, "3 2 1 0",
		},
		"an autoscaler": {
			append([]string{`autoscaling={"enabled":true,"maxReplicas":5}`}, behindService...),
			func(t *testing.T, all objects) any {
				scaler := all.the(t, "HorizontalPodAutoscaler")
				return said(all.the(t, "Deployment").at("spec", "replicas"), scaler.at("spec", "maxReplicas"),
					scaler.at("spec", "scaleTargetRef", "kind"), scaler.at("spec", "scaleTargetRef", "name"),
					scaler.at("spec", "metrics", 0, "resource", "name"))
			}, "<nil> 5 Deployment sluice cpu",
		},
		"a disruption budget": {
			[]string{`podDisruptionBudget={"enabled":true,"minAvailable":"50%"}`},
			func(t *testing.T, all objects) any {
				budget := all.the(t, "PodDisruptionBudget")
				return said(budget.at("spec", "minAvailable"), budget.at("spec", "maxUnavailable"),
					budget.at("spec", "selector", "matchLabels", "app.kubernetes.io/instance"))
			}, "50% <nil> sluice",
		},
		"a disruption budget by default": {
			[]string{`podDisruptionBudget={"enabled":true}`},
			func(t *testing.T, all objects) any {
				return all.the(t, "PodDisruptionBudget").at("spec", "maxUnavailable")
			}, 1,
		},
		"topology": {
			append([]string{`topologySpreadConstraints=[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"DoNotSchedule"}]`},
				behindService...),
			func(t *testing.T, all objects) any {
				constraint := deployment(t, all).list("topologySpreadConstraints")[0]
				return said(constraint.text("topologyKey"),
					constraint.at("labelSelector", "matchLabels", "app.kubernetes.io/name"))
			}, "zone sluice",
		},
		"the network of the node": {
			[]string{`hostNetwork=true`, `ports.web={"port":80}`, `ports.traefik.hostIP="0.0.0.0"`},
			func(t *testing.T, all objects) any {
				p := pod(t, all)
				return said(p.at("hostNetwork"), p.at("dnsPolicy"), p.at("containers", 0, "ports", 1, "hostPort"),
					p.at("containers", 0, "readinessProbe", "httpGet", "host"))
			}, "true ClusterFirstWithHostNet <nil> <nil>",
		},
		"addresses of the node": {
			[]string{
				`hostNetwork=true`, `ports.traefik.hostIP="127.0.0.1"`, `ports.web.hostIP="2001:db8::1"`,
				`startupProbe={"failureThreshold":30}`,
			},
			func(t *testing.T, all objects) any {
				static, container := configuration(t, all), pod(t, all).list("containers")[0]
				return said(static.at("entryPoints", "traefik", "address"), static.at("entryPoints", "web", "address"),
					static.at("entryPoints", "websecure", "address"), container.at("readinessProbe", "httpGet", "host"),
					container.at("livenessProbe", "httpGet", "host"), container.at("startupProbe", "httpGet", "host"))
			}, "127.0.0.1:8080 [2001:db8::1]:8000 :8443 127.0.0.1 127.0.0.1 127.0.0.1",
		},
		"an address of the node without its network": {
			[]string{`ports.traefik={"port":8080,"hostPort":8080,"hostIP":"127.0.0.1"}`},
			func(t *testing.T, all objects) any {
				return said(configuration(t, all).at("entryPoints", "traefik", "address"),
					pod(t, all).at("containers", 0, "ports", 0, "hostIP"),
					pod(t, all).at("containers", 0, "readinessProbe", "httpGet", "host"))
			}, ":8080 127.0.0.1 <nil>",
		},
		"a probe of another entrypoint": {
			[]string{
				`hostNetwork=true`, `ports.traefik.hostIP="127.0.0.1"`, `ports.web.hostIP="192.0.2.1"`,
				`livenessProbe.httpGet={"port":"web"}`, `readinessProbe.httpGet={"host":"192.0.2.2"}`,
			},
			func(t *testing.T, all objects) any {
				container := pod(t, all).list("containers")[0]
				return said(container.at("livenessProbe", "httpGet", "host"), container.at("readinessProbe", "httpGet", "host"))
			}, "192.0.2.1 192.0.2.2",
		},
		"fields of the pod": {
			[]string{
				`runtimeClassName="kata"`, `hostUsers=false`, `shareProcessNamespace=true`, `dnsPolicy="None"`,
				`dnsConfig={"nameservers":["192.0.2.53"]}`, `hostAliases=[{"ip":"192.0.2.1"}]`,
				`podSecurityContext={"runAsUser":1000}`, `securityContext={"readOnlyRootFilesystem":false}`,
			},
			func(t *testing.T, all objects) any {
				p := pod(t, all)
				return said(p.at("runtimeClassName"), p.at("hostUsers"), p.at("shareProcessNamespace"), p.at("dnsPolicy"),
					p.at("dnsConfig", "nameservers", 0), p.at("hostAliases", 0, "ip"),
					p.at("securityContext", "runAsUser"), p.at("securityContext", "runAsNonRoot"),
					p.at("containers", 0, "securityContext", "readOnlyRootFilesystem"))
			}, "kata false true None 192.0.2.53 192.0.2.1 1000 true false",
		},
		"containers and their environment": {
			[]string{
				`initContainers=[{"name":"first"}]`, `containers=[{"name":"beside"}]`,
				`envFrom=[{"secretRef":{"name":"s"}}]`, `lifecycle={"preStop":{"sleep":{"seconds":5}}}`,
				`temporaryVolume={"emptyDir":{"sizeLimit":"1Gi"}}`,
			},
			func(t *testing.T, all objects) any {
				p := pod(t, all)
				return said(p.at("initContainers", 0, "name"), p.at("containers", 1, "name"),
					p.at("containers", 0, "envFrom", 0, "secretRef", "name"),
					p.at("containers", 0, "lifecycle", "preStop", "sleep", "seconds"), len(p.list("volumes")),
					p.at("volumes", 1, "emptyDir"))
			}, "first beside s 5 2 map[sizeLimit:1Gi]",
		},
		"probes": {
			[]string{`readinessProbe.periodSeconds=1`, `startupProbe={"failureThreshold":30}`},
			func(t *testing.T, all objects) any {
				container := pod(t, all).list("containers")[0]
				return said(container.at("readinessProbe", "periodSeconds"), container.at("readinessProbe", "httpGet", "path"),
					container.at("startupProbe", "failureThreshold"), container.at("startupProbe", "httpGet", "port"))
			}, "1 /ready 30 traefik",
		},
		"an image by its digest": {
			[]string{fmt.Sprintf(`image={"registry":"registry.example.com","repository":"edge/sluice","digest":"sha256:%064d"}`, 1)},
			func(t *testing.T, all objects) any { return pod(t, all).at("containers", 0, "image") },
			fmt.Sprintf("registry.example.com/edge/sluice@sha256:%064d", 1),
		},
		"names and labels": {
			[]string{`namespaceOverride="edge"`, `instanceLabelOverride="one"`, `commonLabels={"team":"a"}`},
			func(t *testing.T, all objects) any {
				set := all.the(t, "DaemonSet")
				return said(set.text("metadata", "namespace"),
					set.at("spec", "selector", "matchLabels", "app.kubernetes.io/instance"),
					set.at("metadata", "labels", "team"), set.at("spec", "template", "metadata", "labels", "team"),
					all.the(t, "ClusterRoleBinding").at("subjects", 0, "namespace"))
			}, "edge one a a edge",
		},
	}
	for name, test := range tests {
		t.Run(name, test.check)
	}
}
