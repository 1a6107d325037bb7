package gateway

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// ownerDraft is the translation of an owner's listeners while it is made.
type ownerDraft struct {
	p      *Provider
	result *translation.Result
	plan   *plan
	own    owner
	// created is when the owner was created.
	created time.Time
	// client is nil when the Gateway demands no certificate for connections to backends.
	client *resolvedClient

	views    []listenerView
	statuses []gatewayv1.ListenerStatus
	// valid counts the listeners that are accepted, resolved those of them that have what they need of references, and
	// programmed those that serve; pending may do so in a moment.
	valid, resolved, programmed, pending int
	// unusable is why the first listener does not serve whose address cannot be bound; nil when there is none.
	unusable *Refusal
	// insecure says that clients without a valid certificate are let in although certificates are demanded.
	insecure bool
	frontend map[int32]*frontend
}

// generation returns that of the owner.
func (d *ownerDraft) generation() int64 { return d.result.Origin.Resource.Generation }

// resolve translates the listeners.
func (d *ownerDraft) resolve() {
	d.frontend = map[int32]*frontend{}
	for _, l := range d.plan.owners[d.own].listeners {
		d.listener(l)
	}
}

// listener translates one listener.
func (d *ownerDraft) listener(l *listener) {
	accepted, resolved := l.refusal, (*Refusal)(nil)
	if l.wrongKinds {
		resolved = &Refusal{
			string(gatewayv1.ListenerReasonInvalidRouteKinds), "allowedRoutes.kinds has kinds that the protocol does not support",
		}
	}
	certificates, refused := d.certificates(l)
	if refused != nil {
		resolved = refused
	}
	var front *frontend
	if l.spec.Protocol == gatewayv1.HTTPSProtocolType && accepted == nil {
		if front = d.frontendOf(l.spec.Port); front != nil {
			d.insecure = d.insecure || front.insecure
			if front.resolved != nil {
				resolved = front.resolved
			}
			accepted = front.accepted
		}
	}
	var programmed *Refusal
	switch {
	case d.plan.refusal != nil:
		programmed = &Refusal{string(gatewayv1.ListenerReasonInvalid), "the Gateway is not accepted"}
	case accepted != nil && l.conflict:
		programmed = accepted
	case accepted != nil:
		programmed = &Refusal{string(gatewayv1.ListenerReasonInvalid), "the listener is not accepted"}
	case terminates(l) && len(certificates) == 0:
		programmed = &Refusal{string(gatewayv1.ListenerReasonInvalid), "there is no valid certificate"}
	case len(l.kinds) == 0:
		programmed = &Refusal{string(gatewayv1.ListenerReasonInvalid), "no kind of routes may attach"}
	case l.binding.Refusal != nil:
		programmed = &Refusal{string(gatewayv1.ListenerReasonPending), l.binding.Refusal.Message}
	case l.binding.Address == "":
		programmed = &Refusal{string(gatewayv1.ListenerReasonPending), "the Gateway has no address yet"}
	}
	declared := programmed == nil
	if declared {
		listener := d.declare(l, certificates, front)
		d.result.AddNeed(kindActivity, "", l.key.object())
		programmed = d.p.statuses.inactive(l.key, listener)
	}
	if accepted == nil {
		d.valid++
		if !terminates(l) || len(certificates) > 0 {
			d.resolved++
		}
	}
	switch {
	case programmed == nil:
		d.programmed++
	case programmed.Reason == string(gatewayv1.ListenerReasonPending):
		d.pending++
	case declared && d.unusable == nil:
		d.unusable = programmed
	}
	d.views = append(d.views, listenerView{
		key: l.key, protocol: l.spec.Protocol, port: l.spec.Port, hostname: l.hostname, passthrough: l.passthrough(),
		kinds: l.kinds, namespaces: l.namespaces, accepted: l.refusal == nil, declared: declared,
	})
	d.statuses = append(d.statuses, listenerStatus(l, d.generation(), accepted, resolved, programmed))
}

// serves reports whether an accepted listener of an accepted Gateway has all that it needs to serve, except for an
// address.
func (d *ownerDraft) serves(l *listener) bool {
	if len(l.kinds) == 0 {
		return false
	}
	if l.spec.Protocol == gatewayv1.HTTPSProtocolType {
		if front := d.frontendOf(l.spec.Port); front != nil && front.accepted != nil {
			return false
		}
	}
	if !terminates(l) {
		return true
	}
	certificates, _ := d.certificates(l)
	return len(certificates) > 0
}

// terminates reports whether TLS ends at a listener.
func terminates(l *listener) bool {
	return l.spec.Protocol == gatewayv1.HTTPSProtocolType ||
		l.spec.Protocol == gatewayv1.TLSProtocolType && !l.passthrough()
}

// declare declares a listener with its certificates and TLS options, and returns it.
func (d *ownerDraft) declare(
	l *listener, certificates []*dynamic.CertificateEntry, front *frontend,
) *dynamic.Listener {
	name := l.key.object()
	declared := &dynamic.Listener{
		Address: l.binding.Address, Protocol: dynamic.ListenerProtocol(l.spec.Protocol), Hostname: l.hostname,
		Port: int(l.spec.Port), Template: d.p.options.EntryPointTemplate,
		Created: d.created.UTC(), // Equal times are comparable.
	}
	d.result.Put(dynamic.Ref{Kind: dynamic.KindListener, Name: name}, declared)
	for _, entry := range certificates {
		d.result.PutCertificate(entry)
	}
	if front == nil {
		return declared
	}
	options := &dynamic.TLSOptions{}
	options.SetDefaults()
	options.EntryPoints = []string{l.key.qualified()}
	options.ClientAuth = dynamic.ClientAuth{
		CAFiles: front.authorities, ClientAuthType: "RequireAndVerifyClientCert",
	}
	if front.insecure {
		options.ClientAuth.ClientAuthType = "RequestClientCert"
	}
	d.result.Put(dynamic.Ref{Kind: dynamic.KindTLSOptions, Name: name}, options)
	return declared
}

// certificates returns the valid certificates of a listener, and what is wrong with the first one that is not.
func (d *ownerDraft) certificates(l *listener) (entries []*dynamic.CertificateEntry, refused *Refusal) {
	if !terminates(l) || l.spec.TLS == nil {
		return nil, nil
	}
	for i := range l.spec.TLS.CertificateRefs {
		ref := &l.spec.TLS.CertificateRefs[i]
		pair, problem := d.p.keyPair(d.result, d.own.kind, d.own.Namespace, ref,
			string(gatewayv1.ListenerReasonInvalidCertificateRef))
		if problem != nil {
			if refused == nil {
				refused = problem
			}
			continue
		}
		namespace := string(valueOf(ref.Namespace, gatewayv1.Namespace(d.own.Namespace)))
		entries = append(entries, &dynamic.CertificateEntry{
			Name:        l.key.object() + "/" + namespace + "/" + string(ref.Name),
			Certificate: pair, EntryPoints: []string{l.key.qualified()},
		})
	}
	return entries, refused
}

// keyPair returns the certificate of a reference to a Secret. Invalid is the reason for one that is not there or not
// valid. Whether a Secret exists is not said where no grant permits the reference.
func (p *Provider) keyPair(
	result *translation.Result, kind, namespace string, ref *gatewayv1.SecretObjectReference, invalid string,
) (dynamic.Certificate, *Refusal) {
	if group := valueOf(ref.Group, ""); group != "" || valueOf(ref.Kind, backend.KindSecret) != backend.KindSecret {
		return dynamic.Certificate{}, &Refusal{invalid, "certificates are in Secrets, not in objects of the kind " +
			string(valueOf(ref.Kind, backend.KindSecret)) + " of the group \"" + string(group) + "\""}
	}
	to := types.NamespacedName{
		Namespace: string(valueOf(ref.Namespace, gatewayv1.Namespace(namespace))), Name: string(ref.Name),
	}
	if !p.granted(result, reference{kind, namespace, "", backend.KindSecret, to}) {
		return dynamic.Certificate{}, &Refusal{
			string(gatewayv1.ListenerReasonRefNotPermitted), "no ReferenceGrant permits the reference to Secret " + to.String(),
		}
	}
	result.AddNeed(backend.KindSecret, to.Namespace, to.Name)
	pair, problem := p.pairs.KeyPair(to.Namespace, to.Name, &p.watches)
	if problem != nil {
		return dynamic.Certificate{}, &Refusal{invalid, problem.Reason}
	}
	return pair, nil
}

// frontend says which certificates clients need on a port.
type frontend struct {
	authorities        []string
	insecure           bool
	resolved, accepted *Refusal
}

// frontendOf returns which certificates clients need on a port of the Gateway; nil when they need none.
func (d *ownerDraft) frontendOf(port int32) *frontend {
	if known, found := d.frontend[port]; found {
		return known
	}
	d.frontend[port] = d.readFrontend(port)
	return d.frontend[port]
}

func (d *ownerDraft) readFrontend(port int32) *frontend {
	tls := d.plan.gateway.Spec.TLS
	if tls == nil || tls.Frontend == nil {
		return nil
	}
	validation := tls.Frontend.Default.Validation
	for i := range tls.Frontend.PerPort {
		if tls.Frontend.PerPort[i].Port == port {
			validation = tls.Frontend.PerPort[i].TLS.Validation
		}
	}
	if validation == nil {
		return nil
	}
	front := &frontend{insecure: validation.Mode == gatewayv1.AllowInsecureFallback}
	for i := range validation.CACertificateRefs {
		authority, refused := d.p.authority(d.result, kindGateway, d.plan.gateway.Namespace, &validation.CACertificateRefs[i])
		if authority != "" {
			front.authorities = append(front.authorities, authority)
		}
		if front.resolved == nil {
			front.resolved = refused
		}
	}
	if len(front.authorities) == 0 {
		front.accepted = &Refusal{
			string(gatewayv1.ListenerReasonNoValidCACertificate), "there is no valid certificate of an authority for clients",
		}
	}
	return front
}

// view returns what routes see of the owner.
func (d *ownerDraft) view() *view {
	if d.own.kind == kindListenerSet && d.plan.owners[d.own].refusal != nil &&
		d.plan.owners[d.own].refusal.Reason == string(gatewayv1.ListenerSetReasonNotAllowed) {
		return &view{gateway: nameOf(d.plan.gateway)}
	}
	seen := &view{gateway: nameOf(d.plan.gateway), listeners: d.views}
	if d.client != nil {
		seen.client = d.client.certificate
	}
	return seen
}
