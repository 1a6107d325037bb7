package ingressnginx

// errorPages has the default backend answer in place of errors.
func (d *locationDraft) errorPages() {
	if len(d.options.Errors.Statuses) > 0 {
		d.notYet(false, "custom-http-errors")
	}
}

// defaultBackend answers while the service has no endpoint.
func (d *locationDraft) defaultBackend() {
	if d.options.Backend.Default != "" {
		d.notYet(false, "default-backend")
	}
}
