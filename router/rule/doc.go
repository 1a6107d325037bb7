// Package rule implements the rule language of routers: the HTTP matchers of Traefik v3 joined by &&, || and !.
//
// [Parse] makes an immutable [Rule] from text, [New] from a tree of the model. A Rule matches a [Request], which must
// be canonical, explains the result, and lists the host and path keys for an index.
//
// The syntax and the names' spellings are those of package expression.
package rule
