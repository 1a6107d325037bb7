package ingressnginx

// blockedClients refuses addresses, user agents and referers that the ConfigMap blocks.
func (d *locationDraft) blockedClients() {
	settings := d.settings()
	if len(settings.BlockCIDRs)+len(settings.BlockUserAgents)+len(settings.BlockReferers) > 0 {
		d.notYet(true, "block-cidrs, block-user-agents and block-referers of the ConfigMap")
	}
}

// access refuses addresses, and asks for passwords and the authentication service: for all of them, or with satisfy for
// any one of them.
func (d *locationDraft) access() {
	access := &d.options.Access
	if len(access.Allow) > 0 {
		d.notYet(true, "allowlist-source-range")
	}
	if len(access.Deny) > 0 {
		d.notYet(true, "denylist-source-range")
	}
	d.authentication()
}
