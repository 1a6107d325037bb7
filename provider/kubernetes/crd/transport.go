package crd

import (
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// serversTransport translates a ServersTransport. Authorities that cannot be read keep it from being applied: with
// fewer of them than were meant, or those of the system instead, servers could be trusted that must not be.
func (t *translator) serversTransport(
	result *translation.Result, source translation.Source, object *v1alpha1.ServersTransport,
) {
	name := objectName(source.Namespace, source.Name)
	r := &reading{
		t: t, namespace: source.Namespace, result: result,
		ref: dynamic.Ref{Kind: dynamic.KindServersTransport, Name: name},
	}
	spec := &object.Spec
	node := r.spec(spec, spec.Malformed)
	take(node, "rootCAs")
	take(node, "rootCAsSecrets")
	take(node, "certificatesSecrets")
	transport := decoded[dynamic.ServersTransport](r, node)
	transport.RootCAs = r.rootCAs("", spec.RootCAsSecrets, spec.RootCAs)
	transport.Certificates = r.certificates("certificatesSecrets", spec.CertificatesSecrets)
	result.Put(r.ref, transport)
}

// serversTransportTCP translates a ServersTransportTCP. Authorities that cannot be read keep it from being applied, as
// with a ServersTransport.
func (t *translator) serversTransportTCP(
	result *translation.Result, source translation.Source, object *v1alpha1.ServersTransportTCP,
) {
	r := &reading{
		t: t, namespace: source.Namespace, result: result,
		ref: dynamic.Ref{Kind: dynamic.KindTCPServersTransport, Name: objectName(source.Namespace, source.Name)},
	}
	spec := &object.Spec
	node := r.spec(spec, spec.Malformed)
	take(node, "tls", "rootCAs")
	take(node, "tls", "rootCAsSecrets")
	take(node, "tls", "certificatesSecrets")
	transport := decoded[dynamic.TCPServersTransport](r, node)
	if tls := spec.TLS; tls != nil && transport.TLS != nil {
		transport.TLS.RootCAs = r.rootCAs("tls.", tls.RootCAsSecrets, tls.RootCAs)
		transport.TLS.Certificates = r.certificates("tls.certificatesSecrets", tls.CertificatesSecrets)
	}
	result.Put(r.ref, transport)
}

// certificates returns the certificates with keys of the Secrets that an option names.
func (r *reading) certificates(option string, secrets []string) (pairs []dynamic.Certificate) {
	for i, secret := range distinct(secrets) {
		if pair, ok := r.keyPair(indexed(option, i), secret); ok {
			pairs = append(pairs, pair)
		}
	}
	return pairs
}

// rootCAs returns the authorities of a transport, each as PEM; those of the deprecated option, which are in secrets,
// come first. Prefix is what precedes the names of the options.
func (r *reading) rootCAs(prefix string, secrets []string, roots []v1alpha1.RootCA) []string {
	var list []string
	add := func(authority string) {
		if authority != "" {
			list = append(list, authority)
		}
	}
	for i, secret := range distinct(secrets) {
		add(r.authority(indexed(prefix+"rootCAsSecrets", i), secret))
	}
	seen := map[[2]string]bool{}
	for i, root := range roots {
		names := [2]string{named(root.Secret), named(root.ConfigMap)}
		if seen[names] {
			continue
		}
		seen[names] = true
		option := indexed(prefix+"rootCAs", i)
		switch {
		case (root.Secret == nil) == (root.ConfigMap == nil):
			r.wrong(option, "exactly one of secret and configMap is needed")
		case root.Secret != nil:
			add(r.authority(option+".secret", *root.Secret))
		default:
			add(r.authorityOfConfigMap(option+".configMap", *root.ConfigMap))
		}
	}
	return list
}

// named returns the name that is given, with a mark, so that none differs from an empty one.
func named(name *string) string {
	if name == nil {
		return ""
	}
	return "/" + *name
}
