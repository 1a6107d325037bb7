// Package render writes Ingresses of ingress-nginx as a configuration for nginx without the modules of its controller:
// the servers, locations and directives that the controller's template has for all annotations that need no Lua. What
// its other modules do is written with those of nginx where that gives the same answers: fields of responses with
// add_header, the redirect to https with return at the end of the rewrite phase.
//
// It is a description of its own of what version 1.15.1 does, for tests, and shares nothing with the translation of
// Ingresses into Sluice's configuration.
package render
