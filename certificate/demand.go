package certificate

// Demand is what a router needs of a resolver that obtains certificates.
type Demand struct {
	// Router is the qualified name of the router; empty for the default certificate (defaultGeneratedCert).
	Router string
	// Resolver is the name of the resolver.
	Resolver string
	// Names holds the names of each certificate, the main one first, as they are written in the router. It is empty for a
	// router whose names are those that clients ask for.
	Names [][]string
}
