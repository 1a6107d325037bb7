// Package rule is the language in which a router says which requests are its own: the HTTP matchers of Traefik v3
// joined by &&, || and !.
//
// Text flows in through [Parse], or a tree of the model through [New], and an immutable [Rule] flows out, which decides a [Request], explains the decision,
// names the hosts it stands for and tells an index under which host and path keys it has to be found.
//
//	rule       = and { "||" and } .
//	and        = unary { "&&" unary } .
//	unary      = "!" unary | "(" rule ")" | matcher .
//	matcher    = name "(" string { "," string } ")" .
//	string     = "`" any bytes "`" | a double-quoted Go string .
//
// A name is accepted as documented, in lower case, in upper case, and in title case ("Pathprefix").
//
// The package knows neither routers nor priorities beyond the length of the text, never normalises a request (it is
// given the canonical one) and never reads the clock, the network or a file.
package rule
