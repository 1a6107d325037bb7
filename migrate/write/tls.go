package write

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
)

// transport writes a ServersTransport, and returns its name, or why it cannot.
func (w *writer) transport(namespace, name string) (own, reason string) {
	transports := w.configuration.HTTP.ServersTransports
	given := transports.Get(w.declaredName(name, transports.Keys()))
	reason = w.quarantined[dynamic.Ref{Kind: dynamic.KindServersTransport, Name: plain(name)}]
	switch {
	case given == nil:
		return "", "the transport " + plain(name) + " is not declared"
	case reason != "":
		return "", "the transport " + plain(name) + ": " + reason
	case len(given.Certificates) > 0:
		return "", "the certificate for servers has a private key, which is not written; name its Secret in " +
			"certificatesSecrets of a ServersTransport"
	}
	own = kubeName(plain(name))
	spec := encode(given)
	delete(spec, "rootCAs")
	var secrets []any
	for i, authority := range given.RootCAs {
		if !document.IsPEM(authority) {
			return "", "the authorities of the transport " + plain(name) + " are in files"
		}
		secret := fmt.Sprintf("%s-ca-%d", own, i+1)
		w.secret(namespace, secret, map[string]string{"ca.crt": authority}, "")
		secrets = append(secrets, secret)
	}
	if secrets != nil {
		spec["rootCAsSecrets"] = secrets
	}
	w.put("ServersTransport", namespace, own, spec)
	return own, ""
}

// tlsOptions writes a TLSOption, and returns its name, or why it cannot.
func (w *writer) tlsOptions(namespace, name string) (own, reason string) {
	if w.configuration.TLS == nil {
		return "", "the TLS options " + plain(name) + " are not declared"
	}
	options := w.configuration.TLS.Options
	given := options.Get(w.declaredName(name, options.Keys()))
	reason = w.quarantined[dynamic.Ref{Kind: dynamic.KindTLSOptions, Name: plain(name)}]
	switch {
	case given == nil:
		return "", "the TLS options " + plain(name) + " are not declared"
	case reason != "":
		return "", "the TLS options " + plain(name) + ": " + reason
	case len(given.EntryPoints) > 0 || given.ClientAuth.ClientAuthType == "RequestClientCert" &&
		len(given.ClientAuth.CRLFiles) > 0:
		return "", "the TLS options " + plain(name) + " have what a TLSOption does not have"
	}
	own = kubeName(plain(name))
	spec := encode(given)
	if auth, _ := spec["clientAuth"].(map[string]any); auth != nil {
		reason = w.clientAuthorities(namespace, plain(name), auth, given.ClientAuth.CAFiles, given.ClientAuth.CRLFiles)
	}
	if reason != "" {
		return "", "the TLS options " + plain(name) + ": " + reason
	}
	w.put("TLSOption", namespace, own, spec)
	return own, ""
}

// certificate returns the name of the Secret with the certificate for the hosts of a rule; empty if there is none.
func (w *writer) certificate(namespace, rule string) string {
	if w.configuration.TLS == nil {
		return ""
	}
	for _, host := range hostsOf(rule) {
		for _, entry := range w.configuration.TLS.Certificates {
			if !slices.Contains(entry.Hosts, host) {
				continue
			}
			name, _, _ := strings.Cut(plain(entry.Name), ",")
			of, secret, _ := strings.Cut(name, "/")
			if of == namespace {
				return secret
			}
			w.leave("the certificate for %s is in the Secret %s, which an object of the namespace %s cannot name",
				host, name, namespace)
		}
	}
	return ""
}
