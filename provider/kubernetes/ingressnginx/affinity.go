package ingressnginx

// affinity keeps clients at their endpoint.
func (d *locationDraft) affinity() {
	if d.options.Affinity.Cookie != nil {
		d.notYet(false, "affinity")
	}
}
