package ingressnginx

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
)

// passthroughKey begins the verdicts about connections that are passed on.
const passthroughKey = "nginx.ingress.kubernetes.io/ssl-passthrough: "

// passthrough declares the TCP router of a host of which connections with TLS go on to endpoints as they are: those of
// the path "/", whatever other paths the host has. It is the owner of that path who declares it. Requests without TLS,
// and those to an alias, are served as for other hosts.
func (d *ingressDraft) passthrough(plan *serverPlan) {
	if d.options.TLS.Passthrough {
		d.reportPassthrough(plan)
	}
	if !d.provider.passes(plan) {
		return
	}
	at := slices.IndexFunc(plan.Locations, func(one location) bool {
		return one.Path == "/" && one.Declared == networkingv1.PathTypePrefix
	})
	if at < 0 || plan.Locations[at].Owner != nameOf(d.ingress) {
		return
	}
	router := &dynamic.TCPRouter{
		Rule: "HostSNI(`" + plan.Host + "`)", TLS: &dynamic.TCPRouterTLS{Passthrough: true},
		Created: d.ingress.CreationTimestamp.Time,
	}
	if entryPoint := d.provider.config.HTTPSEntryPoint; entryPoint != "" {
		router.EntryPoints = []string{entryPoint}
	}
	ref := dynamic.Ref{Kind: dynamic.KindTCPRouter, Name: nameOfPath(plan.Host, &plan.Locations[at]) + ",passthrough"}
	d.result.Put(ref, router)
	key, leads := d.provider.backendOf(&plan.Locations[at])
	if plan.Locations[at].Rule < 0 || !leads {
		d.result.Quarantine(ref, dynamic.CodeMissingService, passthroughKey+"no path / of type Prefix of "+plan.Host+
			" leads to a Service: connections with TLS are closed, as by ingress-nginx", false)
		return
	}
	if reason := denied(plan, d.options); reason != "" {
		d.result.Quarantine(ref, dynamic.CodeUnsupportedOption,
			passthroughKey+"connections with TLS are closed: "+reason, false)
		return
	}
	router.Service = d.connections(key)
}

// passes reports whether connections with TLS to a host go on to endpoints as they are.
func (p *Provider) passes(plan *serverPlan) bool {
	return plan.Passthrough && p.config.EnableSSLPassthrough && hostKind(plan.Host) == exactName
}

// hosts returns the names of the host for the routers under way. Connections with TLS that go on to endpoints as they
// are have no router here: it would be preferred to the one that passes them on.
func (d *locationDraft) hosts() []hostNames {
	names := d.server.hosts()
	if d.tls && d.provider.passes(d.server) {
		names = names[1:]
	}
	return names
}

// reportPassthrough adds a verdict on the annotation where it has no effect.
func (d *ingressDraft) reportPassthrough(plan *serverPlan) {
	switch {
	case d.options.Canary.Enabled:
		d.ineffective(passthroughKey + "it has no effect on a canary, as in ingress-nginx")
	case !d.provider.config.EnableSSLPassthrough:
		d.ineffective(passthroughKey + "it needs enableSSLPassthrough of the provider, as it needs a flag of ingress-nginx; " +
			"TLS ends here")
	case plan.Wildcard != "" && plan.First == nameOf(d.ingress):
		d.ineffective(passthroughKey + "TLS ends here for " + plan.Host + ", since the routers of " + plan.Wildcard +
			" come before those that pass connections on, and would get its requests")
	case hostKind(plan.Host) != exactName:
		d.ineffective(passthroughKey + "it needs a host without a wildcard, as in ingress-nginx; TLS ends here for " +
			plan.Host)
	case plan.First != nameOf(d.ingress):
		d.ineffective(passthroughKey + "that of " + plan.First.String() + " decides, which is the first Ingress of " +
			plan.Host + ", as in ingress-nginx")
	}
}

// ineffective adds a verdict on an annotation that has no effect, once.
func (d *ingressDraft) ineffective(reason string) {
	if !slices.ContainsFunc(d.result.Verdicts, func(one dynamic.Verdict) bool { return one.Reason == reason }) {
		d.result.Degrade(d.whole(), dynamic.CodeIneffectiveOption, reason, false)
	}
}

// connections declares the TCP service of a port of a Service, and returns its name. Without the Service, or its port,
// connections are closed.
func (d *ingressDraft) connections(key serviceKey) string {
	service := dynamic.Ref{Kind: dynamic.KindTCPService, Name: nameOfService(key)}
	if d.result.Objects[service] != nil {
		return service.Name
	}
	reference := backend.Reference{Namespace: key.Namespace, Name: key.Service, Port: portOf(key)}
	target, problem := backend.Resolve(reference, corev1.ProtocolTCP, backend.Options{
		Source: d.provider.source, AllowExternalNameServices: !d.provider.config.DisableSvcExternalName, NoNodes: true,
	}, &d.provider.watches)
	d.result.Needs = append(d.result.Needs, reference.Needs()...)
	balancer := &dynamic.TCPServersLoadBalancer{}
	balancer.SetDefaults()
	balancer.EndpointSet = target.EndpointSet
	for _, address := range target.Addresses {
		server := dynamic.TCPServer{Address: address}
		server.SetDefaults()
		balancer.Servers = append(balancer.Servers, server)
	}
	d.result.Put(service, &dynamic.TCPService{LoadBalancer: balancer})
	if problem != nil {
		d.result.Quarantine(service, problem.Code, problem.Reason, problem.Missing)
	}
	return service.Name
}
