// Package acme obtains and renews certificates by ACME (RFC 8555), on any number of replicas.
//
// Resolvers has a resolver for each entry of certificatesResolvers. Routers say by certificate.Demands which names
// they need; plan decides which of these need an order. The replicas that share a storage.Store elect a leader, which
// orders; challenges are in the store, so that each replica answers the requests that validate them, and so are open
// orders, so that the next leader resumes them. Every replica watches the store and sends the certificates to the
// pipeline as a provider named <resolver>.acme.
package acme
