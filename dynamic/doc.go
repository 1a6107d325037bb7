// Package dynamic is the model of declared configuration as plain data.
//
// Configuration holds routers, services, middlewares, transports and TLS, EndpointSet the current endpoints of a
// service. A Message carries both from a provider to the hub, and a Verdict is the result for one declared object.
// Values are immutable once they have been sent: stages share them by pointer and compare pointers first.
//
// The names of options are Traefik v3's: the json tag of a field is its key in files, matched ignoring case.
package dynamic
