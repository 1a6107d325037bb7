// Package index finds the route of a request in time that hardly grows with the number of routes.
//
// Routes flow in, each with its rule, and an immutable [Index] flows out. Per host (exact, one-label wildcard, any) it
// keeps a radix tree over the bytes of the path, where a node holds the routes whose path or path prefix ends there.
// A request collects the nodes on its path from all three trees, merges their routes in the one global order
// ([Route.Compare]), and asks each route's rule. The index only proposes, the rule decides, so that [Index] and [Linear]
// always agree.
//
// The package never reorders equal routes by chance, never builds handlers and never changes an index that it has
// handed out: [Index.Update] returns a new one that shares everything unaffected with the old one.
package index
