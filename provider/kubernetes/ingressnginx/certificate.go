package ingressnginx

import (
	"crypto/x509"
	"encoding/pem"
	"maps"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
)

// certificates declares the certificates that the Ingress has for its hosts. One that cannot be used is no error: the
// default certificate is presented.
func (d *ingressDraft) certificates() {
	if len(d.ingress.Spec.TLS) == 0 {
		return
	}
	hosts := map[string][]string{}
	for _, host := range hostsOf(d.ingress) {
		plan := d.provider.planOf(host)
		if plan == nil || plan.TLS == nil || plan.TLS.Owner != nameOf(d.ingress) {
			continue
		}
		if secret := d.secretOf(plan); secret != "" {
			hosts[secret] = append(hosts[secret], presented(plan)...)
		}
	}
	for _, secret := range slices.Sorted(maps.Keys(hosts)) {
		pair, problem := d.provider.pairs.KeyPair(d.ingress.Namespace, secret, &d.provider.watches)
		if problem != nil {
			d.result.Degrade(d.whole(), problem.Code, "spec.tls: "+problem.Reason+
				"; the default certificate is presented", problem.Missing)
			continue
		}
		slices.Sort(hosts[secret])
		d.result.PutCertificate(&dynamic.CertificateEntry{
			// Two Ingresses may have one Secret for different hosts.
			Name:        d.ingress.Namespace + "/" + secret + "," + d.ingress.Name,
			Certificate: pair, Hosts: slices.Compact(hosts[secret]),
		})
	}
}

// secretOf returns the Secret with the certificate of a host; empty for the default certificate.
func (d *ingressDraft) secretOf(plan *serverPlan) string {
	if plan.TLS.Named {
		if plan.TLS.Secret != "" {
			d.result.AddNeed(backend.KindSecret, d.ingress.Namespace, plan.TLS.Secret)
		}
		return plan.TLS.Secret
	}
	for _, candidate := range plan.TLS.Candidates {
		d.result.AddNeed(backend.KindSecret, d.ingress.Namespace, candidate)
		pair, problem := d.provider.pairs.KeyPair(d.ingress.Namespace, candidate, &d.provider.watches)
		if problem == nil && certifies(pair.CertFile, plan.Host) {
			return candidate
		}
	}
	return ""
}

// certifies reports whether a certificate is for a host, by its names or else its common name.
func certifies(text, host string) bool {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return false
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	return err == nil && (certificate.VerifyHostname(host) == nil || lower(certificate.Subject.CommonName) == lower(host))
}

// presented returns the names of a host for which its certificate is presented.
func presented(plan *serverPlan) []string {
	names := []string{plan.Host}
	for _, alias := range plan.Aliases {
		if kind := aliasKind(alias); kind == exactName || kind == leadingWildcard {
			names = append(names, alias)
		}
	}
	if plan.Twin != "" {
		names = append(names, plan.Twin)
	}
	for i := range names {
		names[i] = strings.TrimSuffix(lower(names[i]), ".")
	}
	return names
}
