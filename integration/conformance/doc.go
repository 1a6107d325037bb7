// Package conformance runs the conformance tests of the Gateway API against the built Sluice, on the control plane of
// integration/cluster. README.md says how. It is a module of its own, because the tests bring libraries along that no
// other part of Sluice needs.
package conformance
