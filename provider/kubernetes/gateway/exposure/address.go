package exposure

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway"
)

// mostAddresses is the number of addresses that a status takes.
const mostAddresses = 16

// unsupported returns why a Gateway demands something that no exposure offers; nil when it does not.
func unsupported(one *gatewayv1.Gateway) *gateway.Refusal {
	if infrastructure := one.Spec.Infrastructure; infrastructure != nil && infrastructure.ParametersRef != nil {
		ref := infrastructure.ParametersRef
		return &gateway.Refusal{
			Reason:  string(gatewayv1.GatewayReasonInvalidParameters),
			Message: fmt.Sprintf("Parameters of the kind %s (group %q) are not supported.", ref.Kind, ref.Group),
		}
	}
	for _, address := range one.Spec.Addresses {
		if address.Type != nil && *address.Type != gatewayv1.IPAddressType {
			return &gateway.Refusal{
				Reason:  string(gatewayv1.GatewayReasonUnsupportedAddress),
				Message: fmt.Sprintf("Addresses of the type %s are not supported, only those of type IPAddress.", *address.Type),
			}
		}
	}
	return nil
}

// demanded returns the address that a Gateway demands; false when any will do. The refusal says why the demand cannot
// be met by any exposure.
func demanded(one *gatewayv1.Gateway) (address netip.Addr, demands bool, refusal *gateway.Refusal) {
	for _, given := range one.Spec.Addresses {
		if given.Value == "" {
			continue
		}
		parsed, err := netip.ParseAddr(given.Value)
		switch {
		case err != nil:
			return netip.Addr{}, true, unusable(fmt.Sprintf("%q is not an IP address.", given.Value))
		case demands && parsed != address:
			return netip.Addr{}, true, unusable("A Gateway has one address here, and this one demands several.")
		}
		address, demands = parsed.Unmap(), true
	}
	return address, demands, nil
}

func unusable(message string) *gateway.Refusal {
	return &gateway.Refusal{Reason: string(gatewayv1.GatewayReasonAddressNotUsable), Message: message}
}

func unassigned(message string) *gateway.Refusal {
	return &gateway.Refusal{Reason: string(gatewayv1.GatewayReasonAddressNotAssigned), Message: message}
}

// statusAddress returns the status of an address, by its type.
func statusAddress(kind gatewayv1.AddressType, value string) gatewayv1.GatewayStatusAddress {
	return gatewayv1.GatewayStatusAddress{Type: &kind, Value: value}
}

// shown returns the addresses that the options say every Gateway shows; false when they say nothing.
func (e *Exposures) shown() ([]gatewayv1.GatewayStatusAddress, bool) {
	show := e.options.Config.StatusAddress
	if show == nil {
		return nil, false
	}
	var addresses []gatewayv1.GatewayStatusAddress
	if show.IP != "" {
		addresses = append(addresses, statusAddress(gatewayv1.IPAddressType, show.IP))
	}
	if show.Hostname != "" {
		addresses = append(addresses, statusAddress(gatewayv1.HostnameAddressType, show.Hostname))
	}
	if e.options.Shown != nil {
		for service := range e.options.Shown.All() {
			addresses = append(addresses, serviceAddresses(service)...)
		}
	}
	return addresses, true
}

// serviceAddresses returns the addresses at which a Service is reached: those of its load balancer if it has the type,
// else its own.
func serviceAddresses(service *corev1.Service) []gatewayv1.GatewayStatusAddress {
	var addresses []gatewayv1.GatewayStatusAddress
	if service.Spec.Type == corev1.ServiceTypeLoadBalancer {
		for _, one := range service.Status.LoadBalancer.Ingress {
			switch {
			case one.IP != "":
				addresses = append(addresses, statusAddress(gatewayv1.IPAddressType, one.IP))
			case one.Hostname != "":
				addresses = append(addresses, statusAddress(gatewayv1.HostnameAddressType, one.Hostname))
			}
		}
	} else {
		own := service.Spec.ClusterIPs
		if len(own) == 0 {
			own = []string{service.Spec.ClusterIP}
		}
		for _, one := range own {
			if one != "" && one != corev1.ClusterIPNone {
				addresses = append(addresses, statusAddress(gatewayv1.IPAddressType, one))
			}
		}
	}
	return addresses[:min(len(addresses), mostAddresses)]
}

// among returns the addresses that a Gateway shows out of those at which it is reached: the demanded one alone, or all.
func among(
	one *gatewayv1.Gateway, reached []gatewayv1.GatewayStatusAddress, missing string,
) ([]gatewayv1.GatewayStatusAddress, *gateway.Refusal) {
	address, demands, refusal := demanded(one)
	switch {
	case refusal != nil:
		return nil, refusal
	case len(reached) == 0:
		return nil, unassigned(missing)
	case !demands:
		return reached, nil
	}
	at := slices.IndexFunc(reached, func(known gatewayv1.GatewayStatusAddress) bool {
		parsed, err := netip.ParseAddr(known.Value)
		return err == nil && parsed.Unmap() == address
	})
	if at < 0 {
		return nil, unusable(fmt.Sprintf("The address %s is not one at which this Gateway is reached.", address))
	}
	return reached[at : at+1], nil
}
