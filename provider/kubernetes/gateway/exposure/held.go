package exposure

import (
	"net"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway"
)

// settled is how long a Gateway must have had a port for others not to take it. At a start, when Gateways become known
// one after another, what the cluster has recorded and their age count alone, so that all instances decide alike.
const settled = time.Second

// holder is a Gateway that has a port.
type holder struct {
	name  types.NamespacedName
	since time.Time
}

// holds reports whether a Gateway has had a port that Sluice listens on for long enough to keep it. The caller holds
// mu.
func (e *Exposures) holds(name types.NamespacedName, port private) bool {
	held, ok := e.held[port]
	return ok && held.name == name && time.Since(held.since) >= settled
}

// records reports whether the status of a Gateway says that a listener of its own is programmed at a port, for the
// specification as it is.
func (r *request) records(port gateway.Port) bool {
	for i := range r.Spec.Listeners {
		one := &r.Spec.Listeners[i]
		if one.Port != port.Number || (one.Protocol == gatewayv1.UDPProtocolType) != (port.Protocol == corev1.ProtocolUDP) {
			continue
		}
		for j := range r.Status.Listeners {
			shown := &r.Status.Listeners[j]
			programmed := meta.FindStatusCondition(shown.Conditions, string(gatewayv1.ListenerConditionProgrammed))
			if shown.Name == one.Name && programmed != nil && programmed.Status == metav1.ConditionTrue &&
				programmed.ObservedGeneration == r.Generation {
				return true
			}
		}
	}
	return false
}

// hold notes who has which port by new answers. Merged Gateways share all of them, and those of a pool have addresses
// of their own. The caller holds mu.
func (e *Exposures) hold(answers map[types.NamespacedName]gateway.Exposed) {
	if e.options.Config.MergeGateways || len(e.pool) > 0 {
		return
	}
	held := make(map[private]holder, len(e.held))
	now := time.Now()
	for name, answer := range answers {
		for port, binding := range answer.Bindings {
			_, number, err := net.SplitHostPort(binding.Address)
			if err != nil {
				continue
			}
			parsed, err := strconv.ParseInt(number, 10, 32)
			if err != nil {
				continue
			}
			key := private{Number: int32(parsed), Protocol: port.Protocol}
			held[key] = holder{name, now}
			if before := e.held[key]; before.name == name {
				held[key] = before
			}
		}
	}
	e.held = held
}
