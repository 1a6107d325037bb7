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
	transport.RootCAs = r.rootCAs(spec)
	for i, secret := range distinct(spec.CertificatesSecrets) {
		if pair, ok := r.keyPair(indexed("certificatesSecrets", i), secret); ok {
			transport.Certificates = append(transport.Certificates, pair)
		}
	}
	result.Put(r.ref, transport)
}

// rootCAs returns the authorities of a ServersTransport, each as PEM; those of the deprecated option come first.
func (r *reading) rootCAs(spec *v1alpha1.ServersTransportSpec) []string {
	var list []string
	add := func(authority string) {
		if authority != "" {
			list = append(list, authority)
		}
	}
	for i, secret := range distinct(spec.RootCAsSecrets) {
		add(r.authority(indexed("rootCAsSecrets", i), secret))
	}
	seen := map[[2]string]bool{}
	for i, root := range spec.RootCAs {
		names := [2]string{named(root.Secret), named(root.ConfigMap)}
		if seen[names] {
			continue
		}
		seen[names] = true
		option := indexed("rootCAs", i)
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
