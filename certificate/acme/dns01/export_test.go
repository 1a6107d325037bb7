package dns01

import "time"

// SetPort sets the port of authoritative name servers, and the limit of a query.
func (s *Solver) SetPort(port string, timeout time.Duration) {
	s.dns.port, s.dns.timeout = port, timeout
}

// SystemResolvers reads the resolvers of a file.
func SystemResolvers(file string) []string { return systemResolvers(file) }
