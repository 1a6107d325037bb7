// Package guard describes how middlewares restrict access, for warnings about access that is open to all clients. A
// middleware computes its [Access] from its definition; requests are not decided here.
package guard

// TrustLevels is a set of levels of trust in the client address that a peer states. Each entrypoint has one level.
type TrustLevels uint8

const (
	// TrustedPeers is the level at which only configured peers may state another client address.
	TrustedPeers TrustLevels = 1 << iota
	// AnyForwarded is the level at which X-Forwarded-For of any peer is trusted.
	AnyForwarded
	// AnyProxy is the level at which the PROXY protocol of any peer is trusted, which makes any client a trusted peer.
	AnyProxy

	// Always is the set of all levels.
	Always = TrustedPeers | AnyForwarded | AnyProxy
)

// Access is a middleware's contribution to access control.
type Access struct {
	// Guards is the set of trust levels at which the middleware restricts access.
	Guards TrustLevels
	// Gaps explain why it does not at other levels.
	Gaps []Gap
	// Server is the URL of the authorization server; empty if there is none. A server that is an entrypoint of this
	// process does not restrict access.
	Server string
}

// Gap is why a middleware does not restrict access at some trust levels.
type Gap struct {
	// On is the set of trust levels.
	On TrustLevels
	// Why is one line with the middleware and the reason.
	Why string
}

// Except returns the access of a middleware that restricts access at all trust levels except some.
func Except(on TrustLevels, why string) Access {
	return Access{Guards: Always &^ on, Gaps: []Gap{{On: on, Why: why}}}
}
