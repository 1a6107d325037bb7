package ingressnginx

// requestBuffering reads a request's body before an endpoint gets it.
func (d *locationDraft) requestBuffering() {
	d.notYet(false, d.given("proxy-request-buffering", "client-body-buffer-size")...)
}

// timeouts bounds the times of an exchange with an endpoint.
func (d *locationDraft) timeouts() {
	d.notYet(false, d.given("proxy-connect-timeout", "proxy-read-timeout", "proxy-send-timeout")...)
}

// proxyTLS is TLS towards endpoints.
func (d *locationDraft) proxyTLS() {
	if d.options.ProxyTLS != nil || len(d.server.ProxyTLS) > 0 {
		d.notYet(true, "proxy-ssl-secret")
	}
}
