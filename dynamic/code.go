package dynamic

// Code is the machine-readable reason of a verdict, in the form of a reason of a Kubernetes condition: CamelCase,
// stable from release to release. It is what programs compare; Verdict.Reason is the sentence for people.
type Code string

// The codes of sources as a whole: a file, a container, an object of a cluster.
const (
	// CodeUnreadableSource is for a source that cannot be read: a file without permission, a container that the engine
	// cannot inspect.
	CodeUnreadableSource Code = "UnreadableSource"
	// CodeInvalidSource is for a source that was read and is not understood: a syntax error, a size above the limit, a
	// section that does not exist.
	CodeInvalidSource Code = "InvalidSource"
	// CodeUnsupportedKind is for an object of a known, unsupported kind.
	CodeUnsupportedKind Code = "UnsupportedKind"
)

// The codes of an object itself.
const (
	// CodeInvalidName is for a name that is empty or not allowed.
	CodeInvalidName Code = "InvalidName"
	// CodeInvalidOption is for an option that does not exist or whose value is not valid, and for a required one that
	// is not given.
	CodeInvalidOption Code = "InvalidOption"
	// CodeUnsupportedOption is for a known, unsupported option of Traefik's.
	CodeUnsupportedOption Code = "UnsupportedOption"
	// CodeIneffectiveOption is for an option that is valid and has no effect where it is given.
	CodeIneffectiveOption Code = "IneffectiveOption"
	// CodeInvalidRule is for a router's rule that does not parse.
	CodeInvalidRule Code = "InvalidRule"
	// CodeInvalidCertificate is for a certificate or key that does not parse, does not match or is not valid now.
	CodeInvalidCertificate Code = "InvalidCertificate"
	// CodeUnguarded is for a router that leads to the API without the authentication that api.requireAuth or
	// admin@internal demands.
	CodeUnguarded Code = "Unguarded"
	// CodeUncoveredHeader is for a router whose middleware environment leaves a header in requests by which a service
	// behind it selects, so that clients that may not choose can.
	CodeUncoveredHeader Code = "UncoveredHeader"
)

// The codes of an object among others.
const (
	// CodeConflictingName is for a name that another source declares too.
	CodeConflictingName Code = "ConflictingName"
	// CodeConflictingTLSOptions is for routers of one host with different TLS options.
	CodeConflictingTLSOptions Code = "ConflictingTLSOptions"
	// CodeConflictingListener is for a listener whose address and hostname another one has, or whose address one has that
	// takes all connections.
	CodeConflictingListener Code = "ConflictingListener"
	// CodeReferenceNotPermitted is for a reference to another namespace or provider that the configuration forbids.
	CodeReferenceNotPermitted Code = "ReferenceNotPermitted"
	// CodeReferenceLoop is for an object that refers to itself through others.
	CodeReferenceLoop Code = "ReferenceLoop"
	// CodeInvalidReference is for a reference to an object that is itself quarantined, or of a kind that cannot be
	// referred to.
	CodeInvalidReference Code = "InvalidReference"
)

// The codes of what the system refuses.
const (
	// CodeUnusableAddress is for a listener whose address cannot be bound.
	CodeUnusableAddress Code = "UnusableAddress"
)

// The codes of xDS.
const (
	// CodeNotPublished is for a service that cannot be expressed in xDS.
	CodeNotPublished Code = "NotPublished"
	// CodeRejectedByClient is for resources that an xDS client has rejected (NACK).
	CodeRejectedByClient Code = "RejectedByClient"
)

// The codes of references to what does not exist, or not yet.
const (
	// CodeMissingEntryPoint is for a router none of whose entrypoints exists, and for one with an entrypoint that does
	// not.
	CodeMissingEntryPoint Code = "MissingEntryPoint"
	// CodeMissingService is for a service (in Kubernetes also a Service or TraefikService) that does not exist.
	CodeMissingService Code = "MissingService"
	// CodeMissingPort is for a port that the service has not.
	CodeMissingPort Code = "MissingPort"
	// CodeMissingMiddleware is for a middleware that does not exist.
	CodeMissingMiddleware Code = "MissingMiddleware"
	// CodeMissingServersTransport is for a servers transport that does not exist.
	CodeMissingServersTransport Code = "MissingServersTransport"
	// CodeMissingTLSOptions is for TLS options that do not exist.
	CodeMissingTLSOptions Code = "MissingTLSOptions"
	// CodeMissingSecret is for a Secret or ConfigMap, or a key of one, that does not exist.
	CodeMissingSecret Code = "MissingSecret"
	// CodeMissingCertificate is for the default TLS store when no certificate covers a host of a router with TLS.
	CodeMissingCertificate Code = "MissingCertificate"
	// CodeCertificatePending is for routers whose certificate a resolver has not obtained or renewed, and for servers
	// transports while the SPIFFE Workload API has delivered no valid X.509-SVID.
	CodeCertificatePending Code = "CertificatePending"
	// CodeNotStapled is for a certificate for which there is no OCSP response to staple, or that demands one.
	CodeNotStapled Code = "NotStapled"
	// CodeMissingReference is for anything else that does not exist.
	CodeMissingReference Code = "MissingReference"
)

// The codes of verdicts that have no better one. They are the statuses.
const (
	// CodeAccepted is for objects that are applied as declared.
	CodeAccepted Code = "Accepted"
	// CodeDegraded is for objects that work, with something that has no effect.
	CodeDegraded Code = "Degraded"
	// CodeRetained is for objects whose last valid definition is in use.
	CodeRetained Code = "Retained"
	// CodeQuarantined is for objects that are not applied.
	CodeQuarantined Code = "Quarantined"
)

// MissingCode returns the code of a reference to an object of a kind that does not exist.
func MissingCode(kind Kind) Code {
	switch kind {
	case KindService, KindTCPService, KindUDPService:
		return CodeMissingService
	case KindMiddleware, KindTCPMiddleware:
		return CodeMissingMiddleware
	case KindServersTransport, KindTCPServersTransport:
		return CodeMissingServersTransport
	case KindTLSOptions:
		return CodeMissingTLSOptions
	}
	return CodeMissingReference
}

// ReasonCode returns the verdict's code: never empty, the general one of its status where Code is.
func (v Verdict) ReasonCode() Code {
	switch {
	case v.Status == Accepted:
		return CodeAccepted
	case v.Code != "":
		return v.Code
	case v.Missing:
		return CodeMissingReference
	case v.Status == Degraded:
		return CodeDegraded
	case v.Status == Retained:
		return CodeRetained
	}
	return CodeQuarantined
}
