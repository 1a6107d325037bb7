// Package environment selects the environment of a request: the tag in its headers, and the subset of a service that
// answers the tag.
//
// Input is a dynamic.Environment and the header of a request; output is the index of a subset and the reason for it. A
// tag has levels, such as dev.proj1.feature1, and the subset with the longest tag that is equal to it or an ancestor of
// it answers. A Selector is immutable, and selecting takes one map lookup for each level and allocates nothing.
//
// The package calls no service and changes no header. Package router/service does that for requests, and package
// xds/resource translates the same rules into routes.
package environment
