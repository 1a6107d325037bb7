// Package xds follows what happens to a cluster with clients of the xDS server: gRPC applications of Go and Node.js,
// which balance by themselves, and another Sluice with the provider xds.
//
// There is the control plane of package cluster, a Sluice that publishes it, and beside the clients one of gRPC with
// DNS and round robin, as applications have it without xDS. All of them call the same pods while these are rolled,
// scaled and killed and while the publisher is away; each call that fails is counted.
//
// TEST_XDS=all measures at full size: 5,000 Services and a publisher that is away for a minute.
package xds
