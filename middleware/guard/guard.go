// Package guard describes how a middleware decides who gets in, for warnings about what is open to all clients.
//
// In flows what a kind of middleware was configured with; out flows an [Access] that its New computes once. The
// package holds no state and decides about no request: it never lets one in or refuses it.
package guard

// TrustLevels is a set of what entrypoints believe of the client address that a peer states. An entrypoint has one of
// them.
type TrustLevels uint8

const (
	// TrustedPeers is the level at which only configured peers may state a client address that is not their own.
	TrustedPeers TrustLevels = 1 << iota
	// AnyForwarded is the level at which X-Forwarded-For of any peer is believed.
	AnyForwarded
	// AnyProxy is the level at which the PROXY protocol of any peer is believed, and with it what only trusted peers
	// may forward.
	AnyProxy

	// Always is the set of all levels.
	Always = TrustedPeers | AnyForwarded | AnyProxy
)

// Access is what a middleware contributes to access control.
type Access struct {
	// Guards is the set of trust levels at which the middleware decides who gets in.
	Guards TrustLevels
	// Gaps say why it does not at the other levels, where a user would expect it to.
	Gaps []Gap
	// Asks is the URL of the server that decides; empty when the middleware decides on its own. A server that is an
	// entrypoint of this process is no guard, since anything may answer there.
	Asks string
}

// Gap is why a middleware is no guard at some trust levels.
type Gap struct {
	// On is the set of trust levels.
	On TrustLevels
	// Why names the middleware and the reason, in one line.
	Why string
}

// Except returns the access of a middleware that guards at all trust levels but some.
func Except(on TrustLevels, why string) Access {
	return Access{Guards: Always &^ on, Gaps: []Gap{{On: on, Why: why}}}
}
