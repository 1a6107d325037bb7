package crd

import (
	"encoding/pem"
	"strings"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// tlsOption translates a TLSOption. Authorities that cannot be read keep it from being applied: clients would get
// in that must not, or others be shut out.
func (t *translator) tlsOption(result *translation.Result, source translation.Source, object *v1alpha1.TLSOption) {
	name := tlsName(source.Namespace, source.Name)
	r := &reading{
		t: t, namespace: source.Namespace, result: result,
		ref: dynamic.Ref{Kind: dynamic.KindTLSOptions, Name: name},
	}
	spec := &object.Spec
	node := r.spec(spec, spec.Malformed)
	take(node, "clientAuth", "secretNames")
	options := decoded[dynamic.TLSOptions](r, node)
	for i, secret := range distinct(spec.ClientAuth.SecretNames) {
		if authority := r.authority(indexed("clientAuth.secretNames", i), secret); authority != "" {
			options.ClientAuth.CAFiles = append(options.ClientAuth.CAFiles, authority)
			if crl := r.revocations(secret); crl != "" && verifies(options.ClientAuth.ClientAuthType) {
				options.ClientAuth.CRLFiles = append(options.ClientAuth.CRLFiles, crl)
			}
		}
	}
	result.Put(r.ref, options)
}

// keyRevocations is the key of a CRL beside an authority, as ingress-nginx has it.
const keyRevocations = "ca.crl"

// revocations returns the CRLs of a Secret with an authority as PEM; empty without any. Whether they can be used is
// found out where the options are compiled.
func (r *reading) revocations(secret string) string {
	text, present := r.t.objects.Secret(r.namespace, secret).Data[keyRevocations]
	if !present || document.IsPEM(string(text)) {
		return string(text)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "X509 CRL", Bytes: text}))
}

// verifies reports whether options with authorities verify client certificates. With others, the CRL in the Secret has
// no effect.
func verifies(clientAuthType string) bool {
	return clientAuthType == "" || strings.EqualFold(clientAuthType, "VerifyClientCertIfGiven") ||
		strings.EqualFold(clientAuthType, "RequireAndVerifyClientCert")
}

// tlsStore translates a TLSStore. Of one that is not named default nothing is read, since nothing of it is used; it is
// passed on, and its user gets a verdict.
func (t *translator) tlsStore(result *translation.Result, source translation.Source, object *v1alpha1.TLSStore) {
	name := tlsName(source.Namespace, source.Name)
	r := &reading{
		t: t, namespace: source.Namespace, result: result,
		ref: dynamic.Ref{Kind: dynamic.KindTLSStore, Name: name},
	}
	spec := &object.Spec
	node := r.spec(spec, spec.Malformed)
	take(node, "defaultCertificate")
	take(node, "certificates")
	store := decoded[dynamic.TLSStore](r, node)
	result.Put(r.ref, store)
	if name != dynamic.DefaultTLSName {
		return
	}
	if spec.DefaultCertificate != nil {
		if pair, ok := r.keyPair("defaultCertificate.secretName", spec.DefaultCertificate.SecretName); ok {
			store.DefaultCertificate = &pair
		}
	}
	seen := make(map[string]bool, len(spec.Certificates))
	for i, certificate := range spec.Certificates {
		if !seen[certificate.SecretName] {
			r.certificate(indexed("certificates", i)+".secretName", certificate.SecretName)
		}
		seen[certificate.SecretName] = true
	}
}

// certificate adds a certificate for clients to see. One that cannot be read is a finding about the certificate: the
// others of its store serve.
func (r *reading) certificate(option, secret string) {
	if !r.named(option, backend.KindSecret, secret) {
		return
	}
	entry, problem := r.t.pairs.Certificate(r.namespace, secret, r.t.objects)
	if problem != nil {
		entry = &dynamic.CertificateEntry{Name: r.namespace + "/" + secret}
		r.result.Quarantine(dynamic.Ref{Kind: dynamic.KindCertificate, Name: entry.Name},
			problem.Code, problem.Reason, problem.Missing)
	}
	r.result.PutCertificate(entry)
}
