package dns01

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/sluiceproxy/sluice/static"
)

// checks says what is checked before the authority is asked to look.
type checks struct {
	disabled      bool
	authoritative bool // All authoritative name servers must have the record.
	recursive     bool // All resolvers must have it.
	delay         time.Duration
}

// none reports whether nothing is checked. As in Traefik, this is so too when authoritative servers are not checked and
// not all resolvers must have the record.
func (c checks) none() bool { return c.disabled || !c.authoritative && !c.recursive }

// checksOf reads the options of propagation. The deprecated ones win where they are set, as in Traefik.
func checksOf(options static.DNSChallenge) checks {
	var propagation static.Propagation
	if options.Propagation != nil {
		propagation = *options.Propagation
	}
	if options.DisablePropagationCheck {
		propagation.DisableChecks = true
	}
	if options.DelayBeforeCheck > 0 {
		propagation.DelayBeforeChecks = options.DelayBeforeCheck
	}
	return checks{
		disabled:      propagation.DisableChecks,
		authoritative: !propagation.DisableANSChecks,
		recursive:     propagation.RequireAllRNS,
		delay:         time.Duration(propagation.DelayBeforeChecks),
	}
}

// systemConfig has the resolvers of the system.
const systemConfig = "/etc/resolv.conf"

// Resolvers returns the addresses, with ports, of the resolvers that are asked: those of the option, else those of the
// system, else public ones, as in lego.
func Resolvers(options static.DNSChallenge) ([]string, error) {
	servers := options.Resolvers
	if len(servers) == 0 {
		servers = systemResolvers(systemConfig)
	}
	all := make([]string, 0, len(servers))
	for i, server := range servers {
		address, err := withPort(server)
		if err != nil {
			return nil, fmt.Errorf("dnsChallenge.resolvers[%d]: %w", i, err)
		}
		all = append(all, address)
	}
	return all, nil
}

func systemResolvers(file string) []string {
	if config, err := dns.ClientConfigFromFile(file); err == nil && len(config.Servers) > 0 {
		all := make([]string, 0, len(config.Servers))
		for _, server := range config.Servers {
			all = append(all, net.JoinHostPort(server, config.Port))
		}
		return all
	}
	return []string{"1.1.1.1:53", "1.0.0.1:53", "[2606:4700:4700::1111]:53", "[2606:4700:4700::1001]:53"}
}

// withPort adds port 53 to an address that has none.
func withPort(server string) (string, error) {
	if net.ParseIP(strings.Trim(server, "[]")) != nil {
		return net.JoinHostPort(strings.Trim(server, "[]"), "53"), nil
	}
	host, port, err := net.SplitHostPort(server)
	if err != nil {
		host, port = server, "53"
	}
	if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
		return "", fmt.Errorf("%q has no valid port", server)
	}
	if net.ParseIP(host) == nil && (host == "" || strings.ContainsAny(host, "/: \t")) {
		return "", fmt.Errorf("%q is not an address of a DNS server", server)
	}
	return net.JoinHostPort(host, port), nil
}
