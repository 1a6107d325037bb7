// Package propagate hands the tag of a virtual environment from the request that an application serves on to the
// requests that it sends, so that routers send all of them to the same environment.
//
// A [Propagator] has the settings. Its Handler reads the tag of an incoming request into the context, its Transport
// writes the tag of the context into outgoing requests. The carriers are an HTTP header and, as an alternative, a
// member of W3C Baggage, which tracing libraries hand on.
//
// The tag is sent to hosts of the cluster alone; see [InternalHosts].
//
// The module has no dependency but the standard library. The interceptors for gRPC are in the nested module
// github.com/sluiceproxy/sluice/sdk/propagate/propagategrpc: as a package of this module, they would not be built into
// an application without gRPC, but their requirements would still take part in the selection of its module versions.
package propagate
