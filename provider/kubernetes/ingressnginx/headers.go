package ingressnginx

// strictTransport adds HSTS to responses over TLS.
func (d *locationDraft) strictTransport() {}

// responseHeaders sets and hides headers of responses.
func (d *locationDraft) responseHeaders() {
	if d.options.Backend.CustomHeaders != nil {
		d.notYet(false, "custom-headers")
	}
}

// proxyRedirect replaces in the headers Location and Refresh of endpoints.
func (d *locationDraft) proxyRedirect() {
	d.notYet(false, d.given("proxy-redirect-from")...)
}

// proxyCookie replaces in the cookies of endpoints.
func (d *locationDraft) proxyCookie() {
	d.notYet(false, d.given("proxy-cookie-domain", "proxy-cookie-path")...)
}

// compression compresses responses.
func (d *locationDraft) compression() {}

// requestHeaders sets the headers of requests to endpoints.
func (d *locationDraft) requestHeaders() {
	d.notYet(false, d.given("upstream-vhost", "connection-proxy-header", "x-forwarded-prefix")...)
}
