// Package router decides which route answers a request.
//
// In flow the merged dynamic.Configuration with the names of what changed in it; out flow an immutable Table behind one
// atomic pointer (ActiveTable), the verdicts of all objects that are not accepted, and the answers of explain and
// routes. Compiler is incremental: it keeps every compiled piece and what depends on it, and builds again only what a
// change reaches. Its subpackages hold the rule language (rule), the index over rules (index), and services of services
// (service).
//
// The package never listens, never watches a source, and never chooses an endpoint: a route's chain ends in a service,
// whose pool does.
package router
