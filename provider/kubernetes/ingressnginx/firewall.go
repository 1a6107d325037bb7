package ingressnginx

import "github.com/sluiceproxy/sluice/dynamic"

// firewall closes locations that a firewall would inspect, which Sluice does not have.
func (d *locationDraft) firewall() {
	if d.options.Firewall.Enabled {
		d.refuse(dynamic.CodeUnsupportedOption, "enable-modsecurity: Sluice has no firewall, and ModSecurity is not executed",
			false)
	}
}
