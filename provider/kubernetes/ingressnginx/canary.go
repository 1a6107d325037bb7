package ingressnginx

// canary sends a share of the requests to the Service of another Ingress.
func (d *locationDraft) canary() {
	if len(d.server.Canaries) > 0 {
		d.notYet(false, "canary")
	}
}
