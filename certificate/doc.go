// Package certificate is how Sluice speaks TLS to clients: certificates by SNI, TLS options and session tickets.
//
// In flow the section tls of the dynamic configuration (paths or inline PEM) and ClientHellos; out flow immutable Sets of
// certificates, Options that yield a *tls.Config for a handshake, and the Connection that remembers under which options a
// client was accepted. It never listens, never reads from a connection, and never obtains a certificate from anybody.
package certificate
