// Package dynamic is the model: what an operator declared, as plain data.
//
// In flow the objects that providers translate from files, labels or manifests; out flow Configuration (routers,
// services, middlewares, transports, TLS), EndpointSet (who serves a Service right now), Message (the two on their way
// from a provider to the hub) and Verdict (what became of an object, on its way back to whoever declared it).
// Values are immutable once they have been sent: stages share them by pointer and compare pointers first.
//
// The package never starts a goroutine, opens a socket, or knows how an object is put to work.
//
// The spelling is Traefik v3's: the json tag of a field is its key in files, matched without regard to case.
package dynamic
