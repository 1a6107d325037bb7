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
	l.spiffeClient(transport.Spiffe, address, transport.InsecureSkipVerify || len(transport.RootCAs) > 0,
		"serversTransport", "spiffe")
	if tcp := l.Configuration.TCPServersTransport; tcp != nil && tcp.TLS != nil {
		l.spiffeClient(tcp.TLS.Spiffe, address, tcp.TLS.InsecureSkipVerify || len(tcp.TLS.RootCAs) > 0,
			"tcpServersTransport", "tls", "spiffe")
	}
}

// spiffeClient checks the option spiffe of a default transport; others says whether there are options beside it that it
// excludes.
func (l *loader) spiffeClient(accepted *SpiffeClient, address string, others bool, path ...string) {
	if accepted == nil {
		return
	}
	if address == "" {
		l.fail("needs spiffe.workloadAPIAddr", path...)
	}
	if others {
		l.fail("excludes rootCAs and insecureSkipVerify: both say how endpoints are authenticated", path...)
	}
	if len(accepted.IDs) > 0 && accepted.TrustDomain != "" {
		l.warn("has no effect beside ids", append(path, "trustDomain")...)
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
