// Package admission tests access control of the built binary: with which credentials and over which protocols requests
// are admitted, while credential files change, and when servers that decide fail. A request that an endpoint has
// received does not count as refused.
package admission
