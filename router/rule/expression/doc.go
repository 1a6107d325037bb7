// Package expression is what the rule languages of routers have in common, independent of what their rules decide: the
// lexer and the parser with the positions of errors, the operators, the limits, printing, explaining, and the keys for
// an index. A language is a list of matchers ([Language]) over the type that they decide, such as an HTTP request.
//
//	rule       = and { "||" and } .
//	and        = unary { "&&" unary } .
//	unary      = "!" unary | "(" rule ")" | matcher .
//	matcher    = name "(" string { "," string } ")" .
//	string     = "`" any bytes "`" | a double-quoted Go string .
//
// The name of a matcher is accepted as documented, in lower case, in upper case, and in title case ("Pathprefix").
package expression
