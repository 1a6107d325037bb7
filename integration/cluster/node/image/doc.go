// Package image replaces the programs of container images that the Gateway API's conformance tests deploy, by the
// image's name: echo-basic, whose server answers with a description of each request by HTTP, gRPC, TCP or UDP as the
// environment says, and coredns, which answers DNS queries.
//
// Several of them share one network namespace, so each listens on its pod's addresses only. Files come from the
// container's volumes. What a client of the original can observe is the same; the image's version is not used.
package image
