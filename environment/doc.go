// Package environment selects the environment of a request: the tag in its headers, and the subset of a service that
// answers the tag.
//
// Input is a dynamic.Environment and the header of a request; output is the index of a subset and the reason for it. A
// tag has levels, such as dev.proj1.feature1, and the subset with the longest tag that is equal to it or an ancestor of
// it answers. A Selector is immutable, and selecting takes one map lookup for each level and allocates nothing.
//
// A Key signs tags, so that clients without any other right can select an environment for a time.
//
// The package calls no service and changes no header. Package router/service does that for requests, package
// middleware/environment sets the header at the edge, and package xds/resource translates the same rules into routes.
package environment
