package tcp

import (
	"github.com/sluiceproxy/sluice/router/tcp/rule"
)

// Stage is how far the beginning of a connection is known when its route is looked for.
type Stage uint8

const (
	// Unread connections have sent nothing that was read: of protocols whose server speaks first nothing ever comes.
	Unread Stage = iota
	// Plain connections have begun with something else than TLS.
	Plain
	// TLS connections have sent their ClientHello.
	TLS
	// StartTLS connections have sent it after the SSLRequest of PostgreSQL.
	StartTLS
)

// Needs says for which stages an [Entry] has routes.
type Needs uint8

const (
	// NeedsUnread is set if routes are to be looked for before anything is read.
	NeedsUnread Needs = 1 << iota
	// NeedsPlain is set if there are routes for connections without TLS.
	NeedsPlain
	// NeedsHello is set if there are routes for connections with TLS, so that each ClientHello has to be read.
	NeedsHello
	// NeedsFirst is set if routes depend on whether the first bytes are a request of HTTP.
	NeedsFirst
)

// HTTPS is what the HTTP routers with TLS of an entrypoint say about server names.
type HTTPS interface {
	// Any reports whether there is one.
	Any() bool
	// Names reports whether the rule of one has the host in a Host matcher, exactly or as a wildcard.
	Names(host string) bool
	// CatchAll reports whether the rule of one has no Host matcher.
	CatchAll() bool
}

// Entry decides between the TCP routers and the HTTP routers of one entrypoint, in Traefik's order. It is immutable.
type Entry[T any] struct {
	// Plain has the routes without TLS, Secure those with TLS.
	Plain, Secure *Table[T]
	// HTTPS are the HTTP routers with TLS.
	HTTPS HTTPS
	// PreferHTTP gives connections that begin with a request of HTTP to the HTTP routers, whatever route without TLS
	// would take them.
	PreferHTTP bool
}

// Needs returns for which stages the entry has routes.
func (e *Entry[T]) Needs() (needs Needs) {
	if len(e.Secure.Routes()) > 0 {
		needs |= NeedsHello
	}
	if len(e.Plain.Routes()) == 0 {
		return needs
	}
	needs |= NeedsPlain
	switch {
	case e.PreferHTTP:
		needs |= NeedsFirst
	case needs&NeedsHello == 0 && !e.HTTPS.Any():
		needs |= NeedsUnread
	}
	return needs
}

// Route returns the route of a connection at a stage, or nil if the HTTP routers serve it, or nothing does. What it
// returns for Plain is not valid for connections that PreferHTTP gives to HTTP.
func (e *Entry[T]) Route(stage Stage, c *rule.Connection) *Route[T] {
	switch stage {
	case Unread, Plain:
		return e.Plain.Match(c)
	case StartTLS:
		return e.Secure.Match(c)
	case TLS:
	}
	// A server name that HTTP routers name is theirs, whatever the priorities are: one host has one owner.
	if c.ServerName != "" && e.HTTPS.Names(c.ServerName) {
		return nil
	}
	route := e.Secure.Match(c)
	if route != nil && route.Rule.IsCatchAll() && e.HTTPS.CatchAll() {
		return nil
	}
	return route
}
