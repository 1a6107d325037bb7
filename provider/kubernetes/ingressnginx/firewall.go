package ingressnginx

import "github.com/sluiceproxy/sluice/dynamic"

// firewall closes locations that a firewall would inspect, which Sluice does not have.
func (d *locationDraft) firewall() {
	if d.options.Firewall.Enabled {
		d.refuse(dynamic.CodeUnsupportedOption, "ModSecurity inspects requests in ingress-nginx, and Sluice has no firewall",
			false)
	}
}
