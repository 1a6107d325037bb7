package ingressnginx

// authentication asks for passwords and the authentication service.
func (d *locationDraft) authentication() {
	settings := d.settings()
	if d.options.Auth != nil {
		d.notYet(true, "auth-type")
	}
	if d.options.AuthRequest != nil {
		d.notYet(true, "auth-url")
	} else if d.options.GlobalAuth && (settings.GlobalAuth != nil || settings.GlobalAuthDenied != "") {
		d.notYet(true, "global-auth-url of the ConfigMap")
	}
}
