package gateway

import (
	"reflect"

	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// view is what routes see of an owner of listeners.
type view struct {
	gateway   types.NamespacedName
	listeners []listenerView
	// client is the certificate for connections to backends, with its name; nil when there is none.
	client *clientCertificate
}

// listenerView is what routes see of a listener.
type listenerView struct {
	key         listenerKey
	protocol    gatewayv1.ProtocolType
	port        int32
	hostname    string
	passthrough bool
	kinds       []gatewayv1.RouteGroupKind
	namespaces  namespaces
	// accepted says that routes may attach, declared that there is a dynamic.Listener for their routers.
	accepted, declared bool
}

// clientCertificate is the certificate of a Gateway for connections to backends.
type clientCertificate struct {
	gateway     types.NamespacedName
	certificate dynamic.Certificate
}

// viewOf returns what routes see of an owner; nil when it is not one of this controller's. It may become one, so that
// a source that calls it needs the listeners of the owner.
func (p *Provider) viewOf(of owner) *view {
	if seen := p.views[of]; seen != nil {
		return seen
	}
	// Routes may be translated before the owner, whose translation then finds the same.
	switch source := sourceOf(of.kind, of.NamespacedName); of.kind {
	case kindGateway:
		p.translateGateway(source)
	case kindListenerSet:
		p.translateListenerSet(source)
	}
	return p.views[of]
}

// planOf returns the plan of a Gateway; nil when it is not one of this controller's.
func (p *Provider) planOf(gateway types.NamespacedName) *plan {
	if known := p.plans[gateway]; known != nil {
		return known
	}
	p.translateGateway(sourceOf(kindGateway, gateway))
	return p.plans[gateway]
}

// see keeps what routes see of an owner, and has them translated again when that has changed.
func (p *Provider) see(of owner, next *view) {
	before := p.views[of]
	if next == nil {
		delete(p.views, of)
	} else {
		p.views[of] = next
	}
	// What was translated while there was no view needs it.
	if before == nil && next != nil && p.memory.Needed(of.listeners()) ||
		before != nil && !reflect.DeepEqual(before, next) {
		p.retouch(of.listeners())
	}
}

// retouch marks a source during an update, which then has a further round.
func (p *Provider) retouch(source translation.Source) {
	p.memory.Touch(source)
	p.again = true
}
