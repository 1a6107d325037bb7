package static

import (
	"net/netip"
	"net/url"
	"path"
)

// spiffe checks the Workload API and the options of the default transport that need it.
func (l *loader) spiffe() {
	address := ""
	if section := l.Configuration.Spiffe; section != nil {
		if address = section.WorkloadAPIAddr; address == "" {
			l.warn("has no workloadAPIAddr and no effect", "spiffe")
		} else if !workloadAPI(address) {
			l.fail("is neither unix:///path/of/socket nor tcp://IP:port", "spiffe", "workloadAPIAddr")
		}
	}
	transport := &l.Configuration.ServersTransport
	accepted := transport.Spiffe
	if accepted == nil {
		return
	}
	if address == "" {
		l.fail("needs spiffe.workloadAPIAddr", "serversTransport", "spiffe")
	}
	if transport.InsecureSkipVerify || len(transport.RootCAs) > 0 {
		l.fail("excludes rootCAs and insecureSkipVerify: both say how endpoints are authenticated",
			"serversTransport", "spiffe")
	}
	if len(accepted.IDs) > 0 && accepted.TrustDomain != "" {
		l.warn("has no effect beside ids", "serversTransport", "spiffe", "trustDomain")
	}
}

// workloadAPI reports whether an address has one of the forms of the SPIFFE Workload Endpoint, section 4.
func workloadAPI(address string) bool {
	location, err := url.Parse(address)
	if err != nil || location.User != nil || location.Opaque != "" || location.RawQuery != "" || location.Fragment != "" {
		return false
	}
	switch location.Scheme {
	case "unix":
		return location.Host == "" && path.IsAbs(location.Path) && location.Path != "/"
	case "tcp":
		_, err := netip.ParseAddrPort(location.Host)
		return err == nil && location.Path == ""
	}
	return false
}
