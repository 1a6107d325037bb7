package ingressnginx

// clientCertificate verifies the client's certificate.
func (d *locationDraft) clientCertificate() {
	if len(d.server.ClientTLS) > 0 {
		d.notYet(true, "auth-tls-secret")
	}
}

// tlsOptions declares the options of TLS connections to the host, and returns their name; empty for the default ones.
// All routers of a host have the same ones.
func (d *locationDraft) tlsOptions() string {
	if d.server.Ciphers != "" {
		d.notYet(false, "ssl-ciphers")
	}
	return ""
}
