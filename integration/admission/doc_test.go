// Package admission tests who gets in through the built binary: with which credentials, over which protocols, while the
// files that say so change, and when those who are asked about it are gone.
//
// In flow requests by real clients with and without credentials, files that are replaced, and servers that misbehave;
// out flows what the client got and what the endpoint saw. It never looks into the packages of the product, and never
// lets a request count as refused that an endpoint has seen.
package admission
