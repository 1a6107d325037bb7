// Package index finds the route of a request in time that is nearly independent of the number of routes.
//
// An [Index] is immutable. Per host (exact, one-label wildcard, suffix, any) it keeps a radix tree over the bytes of
// the path, where a node holds the routes whose path or path prefix ends there. A request collects the nodes on its
// path from all these trees, merges their routes in the one global order ([Route.Compare]), and evaluates each
// route's rule. The index only proposes, the rule decides, so that [Index] and [Linear] always agree. [Index.Update]
// returns a new index that shares everything unaffected with the old one.
package index
