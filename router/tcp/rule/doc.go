// Package rule implements the rule language of TCP routers: the matchers HostSNI, HostSNIRegexp, ClientIP and ALPN of
// Traefik v3 joined by &&, || and !.
//
// [Parse] makes an immutable [Rule] from text. A Rule matches a [Connection], explains the result, names the hosts it
// is for, and lists the host keys for an index. The syntax and the names' spellings are those of package expression,
// which the rules of HTTP routers have in common with these.
//
// Two things are refused that Traefik accepts and that match nothing: empty labels in HostSNI, and zones in ClientIP.
package rule
