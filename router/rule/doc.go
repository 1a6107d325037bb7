// Package rule implements the rule language of routers: the HTTP matchers of Traefik v3 joined by &&, || and !.
//
// [Parse] makes an immutable [Rule] from text, [New] from a tree of the model. A Rule matches a [Request], which must
// be canonical, explains the result, and lists the host and path keys for an index.
//
//	rule       = and { "||" and } .
//	and        = unary { "&&" unary } .
//	unary      = "!" unary | "(" rule ")" | matcher .
//	matcher    = name "(" string { "," string } ")" .
//	string     = "`" any bytes "`" | a double-quoted Go string .
//
// A name is accepted as documented, in lower case, in upper case, and in title case ("Pathprefix").
package rule
