package gateway

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway/status"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// isService reports whether a policy's target is a Service.
func isService(ref *gatewayv1.LocalPolicyTargetReferenceWithSectionName) bool {
	return ref.Group == "" && ref.Kind == backend.KindService
}

// targetsOf returns the Services that a policy is for, each once.
func targetsOf(policy *gatewayv1.BackendTLSPolicy) []types.NamespacedName {
	var services []types.NamespacedName
	for i := range policy.Spec.TargetRefs {
		ref := &policy.Spec.TargetRefs[i]
		name := types.NamespacedName{Namespace: policy.Namespace, Name: string(ref.Name)}
		if isService(ref) && !slices.Contains(services, name) {
			services = append(services, name)
		}
	}
	return services
}

// policyOf returns the policy of a section of a Service, which is that of the name of a port or of the whole Service
// where it is empty: the oldest one. It is nil when there is none.
func (p *Provider) policyOf(
	result *translation.Result, service types.NamespacedName, section string,
) *gatewayv1.BackendTLSPolicy {
	result.Needs = append(result.Needs, virtual(kindPoliciesOf, service))
	var oldest *gatewayv1.BackendTLSPolicy
	for _, name := range p.policies.list(service) {
		policy, found := p.watches.policies.Get(name.Namespace, name.Name)
		if !found || !slices.ContainsFunc(policy.Spec.TargetRefs,
			func(ref gatewayv1.LocalPolicyTargetReferenceWithSectionName) bool {
				return isService(&ref) && string(ref.Name) == service.Name && string(valueOf(ref.SectionName, "")) == section
			}) {
			continue
		}
		if oldest == nil || cmp.Or(policy.CreationTimestamp.Compare(oldest.CreationTimestamp.Time),
			cmp.Compare(policy.Name, oldest.Name)) < 0 {
			oldest = policy
		}
	}
	return oldest
}

// authoritiesOf returns the certificates with which a policy verifies backends; none are those of the system. Refused
// is why the policy cannot be applied, unresolved what is wrong with the first reference that is.
func (p *Provider) authoritiesOf(
	result *translation.Result, policy *gatewayv1.BackendTLSPolicy,
) (authorities []string, refused, unresolved *Refusal) {
	validation := &policy.Spec.Validation
	if wellKnown := valueOf(validation.WellKnownCACertificates, ""); wellKnown != "" {
		if wellKnown != gatewayv1.WellKnownCACertificatesSystem {
			return nil, &Refusal{
				string(gatewayv1.PolicyReasonInvalid), "wellKnownCACertificates: " + string(wellKnown) + " is not supported",
			}, nil
		}
		return nil, nil, nil
	}
	for _, ref := range validation.CACertificateRefs {
		full := gatewayv1.ObjectReference{Group: ref.Group, Kind: ref.Kind, Name: ref.Name}
		authority, wrong := p.authority(result, kindPolicy, policy.Namespace, &full)
		if authority != "" {
			authorities = append(authorities, authority)
		}
		if wrong == nil {
			continue
		}
		if wrong.Reason == string(gatewayv1.ListenerReasonInvalidCACertificateKind) {
			wrong.Reason = string(gatewayv1.BackendTLSPolicyReasonInvalidKind)
		}
		if unresolved == nil {
			unresolved = wrong
		}
	}
	if len(authorities) == 0 {
		refused = &Refusal{
			string(gatewayv1.BackendTLSPolicyReasonNoValidCACertificate), "there is no valid certificate of an authority",
		}
	}
	return authorities, refused, unresolved
}

// security is how a port of a Service is connected to as a policy says, with the name of the transport.
type security struct {
	name string
	dynamic.TCPClientTLS
}

// security returns how a port of a Service is connected to where a policy says so; nil when none does. It is not ok
// when the policy cannot be applied.
func (d *routeDraft) security(to target, client *clientCertificate) (made *security, ok bool) {
	var policy *gatewayv1.BackendTLSPolicy
	if to.port.Name != "" {
		policy = d.p.policyOf(d.result, to.NamespacedName, to.port.Name)
	}
	if policy == nil {
		policy = d.p.policyOf(d.result, to.NamespacedName, "")
	}
	if policy == nil {
		return nil, true
	}
	authorities, refused, _ := d.p.authoritiesOf(d.result, policy)
	if refused != nil {
		return nil, false
	}
	made = &security{name: "policy-" + policy.Namespace + "." + policy.Name}
	made.ServerName, made.RootCAs = string(policy.Spec.Validation.Hostname), authorities
	for _, san := range policy.Spec.Validation.SubjectAltNames {
		// Names replace the check of the host name, but not that of the authority.
		made.InsecureSkipVerify = true
		if san.Type == gatewayv1.URISubjectAltNameType {
			made.PeerCertSANs = append(made.PeerCertSANs, dynamic.PeerCertSAN{Type: "URI", Value: string(san.URI)})
		} else {
			made.PeerCertSANs = append(made.PeerCertSANs, dynamic.PeerCertSAN{Type: "DNSName", Value: string(san.Hostname)})
		}
	}
	if client != nil {
		made.Certificates = []dynamic.Certificate{client.certificate}
		made.name += "," + client.gateway.Namespace + "." + client.gateway.Name
	}
	return made, true
}

// transport declares how a port of a Service is connected to where a policy says so, and returns the name. Secured is
// false when no policy does, ok is false when it cannot be applied.
func (d *routeDraft) transport(to target, client *clientCertificate) (name string, secured, ok bool) {
	secure, ok := d.security(to, client)
	if !ok || secure == nil {
		return "", !ok, ok
	}
	made := &dynamic.ServersTransport{}
	made.SetDefaults()
	made.ServerName, made.RootCAs, made.Certificates = secure.ServerName, secure.RootCAs, secure.Certificates
	made.InsecureSkipVerify, made.PeerCertSANs = secure.InsecureSkipVerify, secure.PeerCertSANs
	d.result.Put(dynamic.Ref{Kind: dynamic.KindServersTransport, Name: secure.name}, made)
	return secure.name, true, true
}

// streamTransport is transport for connections that are not HTTP.
func (d *routeDraft) streamTransport(to target, client *clientCertificate) (name string, secured, ok bool) {
	secure, ok := d.security(to, client)
	if !ok || secure == nil {
		return "", !ok, ok
	}
	made := &dynamic.TCPServersTransport{}
	made.SetDefaults()
	made.TLS = &secure.TCPClientTLS
	d.result.Put(dynamic.Ref{Kind: dynamic.KindTCPServersTransport, Name: secure.name}, made)
	return secure.name, true, true
}

// clientTransport declares how backends with TLS that no policy is for are connected to, and returns the name; empty
// where nothing is to be said.
func (d *routeDraft) clientTransport(client *clientCertificate) string {
	if client == nil {
		return ""
	}
	made := &dynamic.ServersTransport{}
	made.SetDefaults()
	made.Certificates = []dynamic.Certificate{client.certificate}
	name := "gateway-" + client.gateway.Namespace + "." + client.gateway.Name
	d.result.Put(dynamic.Ref{Kind: dynamic.KindServersTransport, Name: name}, made)
	return name
}

// translatePolicy works out the status of a BackendTLSPolicy. What it declares is declared by the routes that lead to
// its Services.
func (p *Provider) translatePolicy(source translation.Source) (result translation.Result, ok bool) {
	name := types.NamespacedName{Namespace: source.Namespace, Name: source.Name}
	key := status.Key{Kind: status.BackendTLSPolicy, NamespacedName: name}
	policy, found := p.watches.policies.Get(name.Namespace, name.Name)
	if !found {
		p.statuses.remove(key)
		return result, false
	}
	result.Origin = originOf(kindPolicy, policy)
	_, refused, unresolved := p.authoritiesOf(&result, policy)
	if refused == nil && p.isConflicted(&result, policy) {
		refused = &Refusal{
			string(gatewayv1.PolicyReasonConflicted), "an older BackendTLSPolicy has the same target",
		}
	}
	conditions := []metav1.Condition{
		condition(gatewayv1.PolicyConditionAccepted, policy.Generation, string(gatewayv1.PolicyReasonAccepted), refused),
		condition(gatewayv1.BackendTLSPolicyConditionResolvedRefs, policy.Generation,
			string(gatewayv1.BackendTLSPolicyReasonResolvedRefs), unresolved),
	}
	p.judge(&result, source, "", conditions)
	desired := &status.Desired{Key: key, UID: policy.UID, Generation: policy.Generation}
	for _, gateway := range p.ancestorsOf(&result, policy) {
		group, kind := gatewayv1.Group(gatewayv1.GroupName), gatewayv1.Kind(kindGateway)
		namespace := gatewayv1.Namespace(gateway.Namespace)
		desired.Ancestors = append(desired.Ancestors, gatewayv1.PolicyAncestorStatus{
			AncestorRef: gatewayv1.ParentReference{
				Group: &group, Kind: &kind, Namespace: &namespace, Name: gatewayv1.ObjectName(gateway.Name),
			},
			ControllerName: gatewayv1.GatewayController(p.options.ControllerName), Conditions: conditions,
		})
	}
	if len(desired.Ancestors) > 0 || p.statuses.has(key) || slices.ContainsFunc(policy.Status.Ancestors,
		func(one gatewayv1.PolicyAncestorStatus) bool {
			return string(one.ControllerName) == p.options.ControllerName
		}) {
		p.statuses.put(desired)
	}
	return result, true
}

// isConflicted reports whether a policy is not that of one of its targets.
func (p *Provider) isConflicted(result *translation.Result, policy *gatewayv1.BackendTLSPolicy) bool {
	conflicted := false
	for i := range policy.Spec.TargetRefs {
		ref := &policy.Spec.TargetRefs[i]
		service := types.NamespacedName{Namespace: policy.Namespace, Name: string(ref.Name)}
		if isService(ref) && p.policyOf(result, service, string(valueOf(ref.SectionName, ""))) != policy {
			conflicted = true
		}
	}
	return conflicted
}

// ancestorsOf returns the Gateways whose routes lead to the targets of a policy, sorted.
func (p *Provider) ancestorsOf(
	result *translation.Result, policy *gatewayv1.BackendTLSPolicy,
) []types.NamespacedName {
	var gateways []types.NamespacedName
	for _, service := range targetsOf(policy) {
		result.Needs = append(result.Needs, virtual(kindUsesOf, service))
		gateways = append(gateways, p.counts.gatewaysOf(service)...)
	}
	slices.SortFunc(gateways, func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return slices.Compact(gateways)
}
