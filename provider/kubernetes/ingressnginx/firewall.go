package ingressnginx

import (
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/static"
)

// firewall closes locations that a firewall would inspect, which Sluice does not have, unless the provider's option
// modSecurity accepts that.
func (d *locationDraft) firewall() {
	switch {
	case !d.options.Firewall.Enabled:
	case d.provider.config.ModSecurity == static.IgnoreModSecurity:
		d.degrade(dynamic.CodeUnsupportedOption, "enable-modsecurity: Sluice has no firewall; requests are served without one, "+
			"by the option modSecurity", false)
	default:
		d.refuse(dynamic.CodeUnsupportedOption, "enable-modsecurity: Sluice has no firewall, and ModSecurity is not executed",
			false)
	}
}
