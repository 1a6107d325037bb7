// Package tcp finds the router of a TCP connection.
//
// A [Table] is immutable. It keeps the routes by the host that their rules require, exactly or as a wildcard of one
// label, and the remaining ones in a list. A connection merges the routes of its server name and that list in the one
// global order ([Route.Compare]) and evaluates each route's rule. The table only proposes, the rule decides, so that
// the result is that of evaluating all routes in order.
package tcp
