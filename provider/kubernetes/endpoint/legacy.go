package endpoint

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
)

// fromLegacy returns the endpoints of the port of that name and protocol, according to legacy Endpoints. These have
// neither zones nor terminating endpoints; those that are not ready have been left out.
func fromLegacy(from *client.Endpoints, name string, protocol corev1.Protocol) []dynamic.Endpoint {
	if from == nil {
		return nil
	}
	var all []dynamic.Endpoint
	for i := range from.Subsets {
		subset := &from.Subsets[i]
		for _, port := range subset.Ports {
			if port.Name != name || protocolOf(port.Protocol) != protocol || port.Port < 1 || port.Port > 65535 {
				continue
			}
			for j := range subset.Addresses {
				address, err := netip.ParseAddr(subset.Addresses[j].IP)
				if err != nil {
					continue
				}
				all = append(all, dynamic.Endpoint{
					Address: netip.AddrPortFrom(address, uint16(port.Port)), UID: podUID(subset.Addresses[j].TargetRef),
				})
			}
		}
	}
	return all
}
