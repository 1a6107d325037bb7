// Package stream serves TCP connections by the endpoints of a service.
//
// In flows a connection of a client ([Client]), whose route is known and whose TLS has ended or passes through. A
// [Service] picks an endpoint of a pool, connects to it as the [Transport] says, tries another one if that fails, and
// joins both connections by package relay until they end. Out flows a [Result].
package stream
