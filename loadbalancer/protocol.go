package loadbalancer

import "strings"

// The protocols of services, which have pools in one registry.
const (
	ProtocolHTTP = "http"
	ProtocolTCP  = "tcp"
	ProtocolUDP  = "udp"
)

// PoolName returns the name of the pool of a service by its qualified name: that name for HTTP, and the protocol, a
// colon and the name for TCP and UDP, whose services may have the names of HTTP services.
func PoolName(protocol, service string) string {
	if protocol == ProtocolHTTP {
		return service
	}
	return protocol + ":" + service
}

// SplitPoolName returns what PoolName has made a name of.
func SplitPoolName(name string) (protocol, service string) {
	for _, protocol := range []string{ProtocolTCP, ProtocolUDP} {
		if rest, found := strings.CutPrefix(name, protocol+":"); found {
			return protocol, rest
		}
	}
	return ProtocolHTTP, name
}
