package ingressnginx

import (
	"crypto/x509"
	"encoding/pem"
	"maps"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// defaultCertificate declares the certificate that is presented where a host has none. Without its Secret none is
// declared, as in ingress-nginx, which then generates one.
func (p *Provider) defaultCertificate(result *translation.Result, ref dynamic.Ref) {
	name, _ := objectName(p.config.DefaultSSLCertificate)
	if name.Name == "" {
		return
	}
	result.AddNeed(backend.KindSecret, name.Namespace, name.Name)
	pair, problem := p.pairs.KeyPair(name.Namespace, name.Name, &p.watches)
	if problem != nil {
		result.Degrade(ref, problem.Code, "defaultSSLCertificate: "+problem.Reason+
			"; a certificate that is generated, or another provider's default one, is presented", problem.Missing)
		return
	}
	result.Put(dynamic.Ref{Kind: dynamic.KindTLSStore, Name: dynamic.DefaultTLSName},
		&dynamic.TLSStore{DefaultCertificate: &pair})
}

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
	if secret := plan.TLS.Secret; plan.TLS.Named {
		if secret == "" {
			return ""
		}
		d.result.AddNeed(backend.KindSecret, d.ingress.Namespace, secret)
		pair, problem := d.provider.pairs.KeyPair(d.ingress.Namespace, secret, &d.provider.watches)
		if problem == nil && !certifies(pair.CertFile, plan.Host, true) {
			d.result.Degrade(d.whole(), dynamic.CodeInvalidCertificate, "spec.tls: the certificate of Secret "+
				d.ingress.Namespace+"/"+secret+" is not for "+plan.Host+"; the default certificate is presented", false)
			return ""
		}
		return secret
	}
	for _, candidate := range plan.TLS.Candidates {
		d.result.AddNeed(backend.KindSecret, d.ingress.Namespace, candidate)
		pair, problem := d.provider.pairs.KeyPair(d.ingress.Namespace, candidate, &d.provider.watches)
		if problem == nil && certifies(pair.CertFile, plan.Host, false) {
			return candidate
		}
	}
	return ""
}

// certifies reports whether a certificate is for a host by its names. Loose takes the common name where it has none,
// and names that are no host's.
func certifies(text, host string, loose bool) bool {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return false
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return false
	}
	names := certificate.DNSNames
	if len(names) == 0 {
		names = []string{certificate.Subject.CommonName}
	}
	return certificate.VerifyHostname(host) == nil || loose &&
		slices.ContainsFunc(names, func(name string) bool { return covers(lower(name), lower(host)) })
}

// covers reports whether a name is that of a host, of which a wildcard stands for the first label.
func covers(name, host string) bool {
	name, host = strings.TrimSuffix(name, "."), strings.TrimSuffix(host, ".")
	if rest, wildcard := strings.CutPrefix(name, "*."); wildcard {
		_, behind, divided := strings.Cut(host, ".")
		return divided && rest == behind
	}
	return name != "" && name == host
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
