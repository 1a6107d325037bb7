package ingressnginx

// protocol is how endpoints are spoken to.
func (d *locationDraft) protocol() {
	if protocol := d.options.Backend.Protocol; protocol != "" && protocol != "HTTP" {
		d.notYet(true, "backend-protocol")
	}
}

// balance chooses the endpoint.
func (d *locationDraft) balance() {
	d.notYet(false, d.given("load-balance", "service-upstream", "upstream-hash-by")...)
}

// nextUpstream says when another endpoint gets the request.
func (d *locationDraft) nextUpstream() {
	d.notYet(false, d.given("proxy-next-upstream", "proxy-next-upstream-tries", "proxy-next-upstream-timeout")...)
}
