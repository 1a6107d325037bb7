package ingressnginx

// crossOrigin answers preflight requests, and adds the headers of CORS to other responses.
func (d *locationDraft) crossOrigin() {
	if d.options.CORS != nil {
		d.notYet(false, "enable-cors")
	}
}
