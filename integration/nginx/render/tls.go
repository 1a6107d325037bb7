package render

import (
	"crypto/x509"
	"encoding/pem"
	"slices"
	"strconv"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
)

// clientTLS is how clients' certificates are verified; nothing without an authority.
type clientTLS struct {
	authority, verify, page, name string
	depth                         int
	pass                          bool
}

// upstreamTLS is how the certificates of endpoints are verified.
type upstreamTLS struct {
	authority, certificate, ciphers, protocols, verify, name, serverName string
	depth                                                                int
}

// readTLS reads auth-tls-* and proxy-ssl-*. A Secret that is missing denies the location, and for clients the host.
func (o *options) readTLS(ingress *networkingv1.Ingress, certificates map[string]PEM) {
	find := func(key string) (PEM, bool) {
		namespace, name := named("", o.values[key])
		if namespace != ingress.Namespace {
			o.deny("%s is in another namespace", key)
			return PEM{}, false
		}
		found, ok := certificates[namespace+"/"+name]
		if !ok {
			o.deny("%s: there is no Secret", key)
		}
		return found, ok
	}
	if _, given := o.values["auth-tls-secret"]; given {
		found, ok := find("auth-tls-secret")
		if !ok {
			o.clientTLSDenied = o.denied
		}
		o.clientTLS = clientTLS{
			authority: found.Authority, page: o.text("auth-tls-error-page", ""), name: o.text("auth-tls-match-cn", ""),
			depth: max(1, o.number("auth-tls-verify-depth", 1)), pass: o.on("auth-tls-pass-certificate-to-upstream", false),
			verify: o.text("auth-tls-verify-client", "on"),
		}
		if !slices.Contains([]string{"on", "off", "optional", "optional_no_ca"}, o.clientTLS.verify) {
			o.clientTLS.verify = "on"
		}
	}
	if _, given := o.values["proxy-ssl-secret"]; given {
		found, _ := find("proxy-ssl-secret")
		if found.Authority == "" {
			found.Certificate = "" // The controller writes the file only with an authority.
		}
		o.upstreamTLS = upstreamTLS{
			authority: found.Authority, certificate: found.Certificate,
			ciphers: o.text("proxy-ssl-ciphers", "DEFAULT"), protocols: o.text("proxy-ssl-protocols", "TLSv1.2"),
			verify: o.text("proxy-ssl-verify", "off"), depth: max(1, o.number("proxy-ssl-verify-depth", 1)),
			name: o.text("proxy-ssl-name", ""), serverName: o.text("proxy-ssl-server-name", "off"),
		}
	}
}

// certificateOf returns the certificate of a host: that of the section which names it, or one that is valid for it.
func (r *renderer) certificateOf(ingress *networkingv1.Ingress, host string) (PEM, bool) {
	for _, section := range ingress.Spec.TLS {
		if slices.ContainsFunc(section.Hosts, func(name string) bool { return strings.EqualFold(name, host) }) {
			found, ok := r.Certificates[ingress.Namespace+"/"+section.SecretName]
			return found, ok && found.Certificate != "" && found.valid(host)
		}
	}
	for _, section := range ingress.Spec.TLS {
		if found := r.Certificates[ingress.Namespace+"/"+section.SecretName]; found.valid(host) {
			return found, true
		}
	}
	return PEM{}, false
}

// valid reports whether the certificate is for a host.
func (p PEM) valid(host string) bool {
	block, _ := pem.Decode([]byte(p.Certificate))
	if block == nil {
		return false
	}
	parsed, err := x509.ParseCertificate(block.Bytes)
	return err == nil && parsed.VerifyHostname(host) == nil
}

// write writes how clients' certificates are verified.
func (c clientTLS) write(t *text, r *renderer, name string) {
	if c.name != "" {
		t.line("if ($ssl_client_s_dn !~ %s) { return 403; }", quote(c.name))
	}
	if c.authority == "" {
		return
	}
	t.line("ssl_client_certificate %s;", r.file(name+"-clients.pem", c.authority))
	t.line("ssl_verify_client %s;\nssl_verify_depth %d;", c.verify, c.depth)
	if c.page != "" {
		t.line("error_page 495 496 = %s;", c.page)
	}
}

// clientFields writes the fields about the client's certificate.
func (s *server) clientFields(t *text, directive string) {
	if s.clientTLS.authority == "" {
		return
	}
	if s.clientTLS.pass {
		t.line("%s ssl-client-cert $ssl_client_escaped_cert;", directive)
	}
	t.line("%s ssl-client-verify $ssl_client_verify;", directive)
	t.line("%s ssl-client-subject-dn $ssl_client_s_dn;", directive)
	t.line("%s ssl-client-issuer-dn $ssl_client_i_dn;", directive)
}

// write writes how the certificates of endpoints are verified.
func (u upstreamTLS) write(t *text, r *renderer, name string) {
	if u.authority != "" {
		t.line("proxy_ssl_trusted_certificate %s;", r.file(name+"-upstream-ca.pem", u.authority))
		t.line("proxy_ssl_ciphers %s;\nproxy_ssl_protocols %s;", u.ciphers, u.protocols)
		t.line("proxy_ssl_verify %s;\nproxy_ssl_verify_depth %s;", u.verify, strconv.Itoa(u.depth))
	}
	if u.name != "" {
		t.line("proxy_ssl_name %s;", u.name)
	}
	if u.serverName != "" {
		t.line("proxy_ssl_server_name %s;", u.serverName)
	}
	if u.certificate != "" {
		file := r.file(name+"-upstream.pem", u.certificate)
		t.line("proxy_ssl_certificate %s;\nproxy_ssl_certificate_key %s;", file, file)
	}
}
