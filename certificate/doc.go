// Package certificate holds the server side of TLS: certificates by SNI, TLS options and session tickets.
//
// A Set is an immutable choice of certificates, read from the section tls of the dynamic configuration (paths or
// inline PEM). Options yield the *tls.Config of a handshake. Tickets hold the keys of session tickets. Connection
// stores the options under which a client was accepted; with CRLs (clientAuth.crlFiles), Options refuse clients whose
// certificates are revoked.
//
// Package acme obtains certificates, storage keeps them, tickets shares the keys of session tickets, and ocsp staples
// responses to certificates. Package spiffe is the other side of TLS: Sluice's identity towards endpoints.
package certificate
