package ingressnginx

// mirror sends a copy of each request.
func (d *locationDraft) mirror() {
	if d.options.Mirror != nil {
		d.notYet(false, "mirror-target")
	}
}
