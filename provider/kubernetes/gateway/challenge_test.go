package gateway

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway/status"
	"github.com/sluiceproxy/sluice/static"
)

// challenged is a Gateway whose listener for HTTPS waits for a certificate, of itself or of a ListenerSet of its name.
// All requests without TLS are redirected.
func challenged(kind string) string {
	listeners := `[{name: http, port: 80, protocol: HTTP}, {name: https, port: 443, protocol: HTTPS,
		hostname: shop.example.com, tls: {mode: Terminate, certificateRefs: [{group: "", kind: Secret, name: shop-tls}]}}]`
	own := `[{name: other, port: 8080, protocol: HTTP}]`
	annotations := `{cert-manager.io/issuer: letsencrypt}`
	text := ""
	if kind == kindListenerSet {
		text = `{apiVersion: gateway.networking.k8s.io/v1, kind: ListenerSet,
	metadata: {name: main, namespace: shop, annotations: ` + annotations + `},
	spec: {parentRef: {name: main}, listeners: ` + listeners + "}}\n---\n"
		annotations = "{}"
	} else {
		own = listeners
	}
	return text + `{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway,
	metadata: {name: main, namespace: shop, annotations: ` + annotations + `},
	spec: {gatewayClassName: sluice, allowedListeners: {namespaces: {from: Same}}, listeners: ` + own + `}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: redirect, namespace: shop}, spec: {
	parentRefs: [{kind: ` + kind + `, name: main, sectionName: http}], rules: [{filters: [
		{type: RequestRedirect, requestRedirect: {scheme: https}}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: shop}, spec: {
	parentRefs: [{kind: ` + kind + `, name: main, sectionName: https}], hostnames: [shop.example.com],
	rules: [{backendRefs: [{name: web, port: 80}]}]}}`
}

// solver is the HTTPRoute of an ACME challenge in the form that cert-manager creates it, and its Service.
func solver(kind string) (route, service string) {
	return `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute,
	metadata: {name: cm-acme-http-solver-route, namespace: shop, labels: {acme.cert-manager.io/http01-solver: "true"}},
	spec: {parentRefs: [{group: gateway.networking.k8s.io, kind: ` + kind + `, name: main, namespace: shop}],
		hostnames: [shop.example.com], rules: [{
			matches: [{path: {type: Exact, value: /.well-known/acme-challenge/token}}],
			backendRefs: [{group: "", kind: Service, name: cm-acme-http-solver, namespace: shop, port: 8089, weight: 1}]}]}}`,
		`{apiVersion: v1, kind: Service, metadata: {name: cm-acme-http-solver, namespace: shop},
	spec: {type: NodePort, ports: [{name: http, port: 8089, targetPort: 8089}]}}`
}

// TestChallengesAreAnsweredBeforeTheCertificate proves that the HTTPRoute of an ACME challenge is served while the
// HTTPS listener beside it waits for the Secret, before a redirection of everything, and that the listener is
// programmed once the Secret is there.
func TestChallengesAreAnsweredBeforeTheCertificate(t *testing.T) {
	t.Parallel()
	for kind, object := range map[string]string{kindGateway: "shop_main", kindListenerSet: "shop_set_main"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			const challenge = "http://shop.example.com/.well-known/acme-challenge/token"
			const elsewhere = "http://shop.example.com/x"
			const accepted = " Accepted=True:Accepted@0 Conflicted=False:NoConflicts@0"
			const waiting = accepted + " ResolvedRefs=False:InvalidCertificateRef@0 Programmed=False:Invalid@0"
			const programmed = accepted + " ResolvedRefs=True:ResolvedRefs@0 Programmed=True:Programmed@0"
			const both = " Accepted=True:Accepted@0 Programmed=True:Programmed@0"
			const fine = " Accepted=True:Accepted@0 ResolvedRefs=True:ResolvedRefs@0"
			const redirecting = "httproute-shop.redirect,error" // Behind the redirection.
			c := newCluster()
			c.apply(t, common(t))
			c.apply(t, []byte(challenged(kind)))
			s := serve(t, c.provider(static.KubernetesGateway{}))
			expect := func(when, https, answer, ofSolver string) {
				t.Helper()
				s.follow(t)
				for _, check := range [][3]string{
					{"the owner", s.conditions(status.Kind(kind), "shop", "main", ""), both},
					{"the Gateway", s.conditions(status.Gateway, "shop", "main", ""), both},
					{"listener http", s.conditions(status.Kind(kind), "shop", "main", "http"), programmed},
					{"listener https", s.conditions(status.Kind(kind), "shop", "main", "https"), https},
					{"route redirect", s.conditions(status.HTTPRoute, "shop", "redirect", ""), fine},
					{"route web", s.conditions(status.HTTPRoute, "shop", "web", ""), fine},
					{
						"the route of the challenge",
						s.conditions(status.HTTPRoute, "shop", "cm-acme-http-solver-route", ""), ofSolver,
					},
					{"the challenge", s.answer(t, object+"_http", challenge), answer},
					{"another path", s.answer(t, object+"_http", elsewhere), redirecting},
				} {
					if check[1] != check[2] {
						t.Errorf("%s: %s: %q, want %q", when, check[0], check[1], check[2])
					}
				}
			}
			route, service := solver(kind)
			const solved = "shop.cm-acme-http-solver,8089,http"
			expect("no Secret", waiting, redirecting, "none")
			c.apply(t, []byte(route))
			expect("no Service", waiting, "httproute-shop.cm-acme-http-solver-route,error",
				" Accepted=True:Accepted@0 ResolvedRefs=False:BackendNotFound@0")
			c.apply(t, []byte(service))
			expect("a Service", waiting, solved, fine)
			c.secrets.put(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop-tls"}})
			expect("an empty Secret", waiting, solved, fine)
			certificate, key := generated(t)
			c.secrets.put(&corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop-tls"},
				Data:       map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key},
			})
			expect("a certificate", programmed, solved, fine)
			if got := s.answer(t, object+"_https", "https://shop.example.com/"); got != "shop.web,80,http" {
				t.Errorf("with a certificate, HTTPS leads to %q", got)
			}
			c.httpRoutes.drop(types.NamespacedName{Namespace: "shop", Name: "cm-acme-http-solver-route"})
			c.services.drop(types.NamespacedName{Namespace: "shop", Name: "cm-acme-http-solver"})
			expect("the challenge is over", programmed, redirecting, "none")
		})
	}
}

// records returns what external-dns makes of HTTPRoutes and of the statuses of this controller: the names for which it
// writes records, with their targets. It looks for parents that have accepted a route, and at the hostnames and
// addresses of these.
func (s *serving) records(c *fakeCluster) map[string]string {
	found := map[string]string{}
	for route := range c.httpRoutes.All() {
		desired := s.statuses.desired[status.Key{Kind: status.HTTPRoute, NamespacedName: nameOf(route)}]
		if desired == nil {
			continue
		}
		hostnames := []string{""} // Those of the listeners.
		for i, hostname := range route.Spec.Hostnames {
			hostnames = append(hostnames[:i], string(hostname))
		}
		for i := range desired.Parents {
			entry := &desired.Parents[i]
			if !strings.Contains(conditionText(entry.Conditions), "Accepted=True") {
				continue
			}
			of, _ := ownerOf(&entry.ParentRef, route.Namespace)
			listeners, targets := s.reached(c, of)
			for section, listener := range listeners {
				if named := entry.ParentRef.SectionName; named != nil && string(*named) != section {
					continue
				}
				for _, hostname := range hostnames {
					if name := narrower(hostname, listener); name != "" {
						found[name] = targets
					}
				}
			}
		}
	}
	return found
}

// reached returns the hostnames of the listeners of an owner by their names, of a ListenerSet those that are accepted,
// and the addresses of the Gateway.
func (s *serving) reached(c *fakeCluster, of owner) (listeners map[string]string, targets string) {
	listeners = map[string]string{}
	gateway := of.NamespacedName
	if set, isSet := c.listenerSets.Get(of.Namespace, of.Name); isSet && of.kind == kindListenerSet {
		gateway = parentOf(set)
		for i := range set.Spec.Listeners {
			one := &set.Spec.Listeners[i]
			both := s.conditions(status.ListenerSet, of.Namespace, of.Name, "") +
				s.conditions(status.ListenerSet, of.Namespace, of.Name, string(one.Name))
			if strings.Count(both, "Accepted=True") == 2 {
				listeners[string(one.Name)] = string(valueOf(one.Hostname, ""))
			}
		}
	} else if object, found := c.gateways.Get(of.Namespace, of.Name); found {
		for i := range object.Spec.Listeners {
			listeners[string(object.Spec.Listeners[i].Name)] = string(valueOf(object.Spec.Listeners[i].Hostname, ""))
		}
	}
	var all []string
	key := status.Key{Kind: status.Gateway, NamespacedName: gateway}
	for _, address := range s.statuses.desired[key].Gateway.Addresses {
		all = append(all, address.Value)
	}
	return listeners, strings.Join(all, " ")
}

// narrower returns the narrower one of two hostnames, of which an empty one is for all hosts; none where they have no
// host in common.
func narrower(hostname, other string) string {
	switch {
	case hostname == "" || other == "":
		return hostname + other
	case !overlap(hostname, other):
		return ""
	case len(other) > len(hostname):
		return other
	}
	return hostname
}

// TestNamesForDNSAreThoseOfAcceptedRoutes proves that external-dns finds, in statuses, the address of the Gateway and
// the hostnames of the routes that it has accepted, and of no others.
func TestNamesForDNSAreThoseOfAcceptedRoutes(t *testing.T) {
	t.Parallel()
	c := newCluster()
	c.apply(t, common(t))
	c.apply(t, []byte(`{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: elsewhere},
	spec: {controllerName: example.org/another}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: elsewhere, namespace: shop},
	spec: {gatewayClassName: elsewhere, listeners: [{name: http, port: 80, protocol: HTTP}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: main, namespace: shop}, spec: {
	gatewayClassName: sluice, allowedListeners: {namespaces: {from: All}}, listeners: [
		{name: http, port: 80, protocol: HTTP, hostname: "*.example.com"},
		{name: admin, port: 81, protocol: HTTP, hostname: admin.example.com}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: ListenerSet, metadata: {name: tenant, namespace: other}, spec: {
	parentRef: {name: main, namespace: shop}, listeners: [{name: https, port: 443, protocol: HTTPS,
		hostname: tenant.example.net, tls: {certificateRefs: [{name: late}]}}]}}`))
	for _, route := range [][4]string{ // Name, namespace, parents, hostnames.
		{"exact", "shop", "[{name: main}]", "[shop.example.com, shop.example.org]"},
		{"unnamed", "shop", "[{name: main, sectionName: admin}]", "[]"},
		{"wild", "shop", "[{name: main, sectionName: http}]", "['*.shop.example.com']"},
		{"missing", "shop", "[{name: main, sectionName: none}]", "[missing.example.com]"},
		{"foreign", "other", "[{name: main, namespace: shop}]", "[foreign.example.com]"},
		{"unmatched", "shop", "[{name: main}]", "[shop.example.net]"},
		{"elsewhere", "shop", "[{name: elsewhere}]", "[elsewhere.example.com]"},
		{"tenant", "other", "[{kind: ListenerSet, name: tenant}]", "[tenant.example.net]"},
	} {
		c.apply(t, []byte(`{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: `+route[0]+
			`, namespace: `+route[1]+`}, spec: {parentRefs: `+route[2]+`, hostnames: `+route[3]+
			`, rules: [{backendRefs: [{name: web, port: 80}]}]}}`))
	}
	s := serve(t, c.provider(static.KubernetesGateway{}))
	expect := func(when string, want map[string]string) {
		t.Helper()
		s.follow(t)
		got := s.records(c)
		for name, target := range got {
			if want[name] != target {
				t.Errorf("%s: %s has %q, want %q", when, name, target, want[name])
			}
		}
		for name := range want {
			if got[name] == "" {
				t.Errorf("%s: %s is not found", when, name)
			}
		}
	}
	want := map[string]string{
		"shop.example.com": "192.0.2.1", "admin.example.com": "192.0.2.1", "*.shop.example.com": "192.0.2.1",
	}
	expect("no certificate", want)
	certificate, key := generated(t)
	c.secrets.put(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "other", Name: "late"},
		Data:       map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key},
	})
	want["tenant.example.net"] = "192.0.2.1"
	expect("a certificate", want)
}
