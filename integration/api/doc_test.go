// Package api tests the management API of the running binary: every response against the OpenAPI document that the same
// Sluice serves, event streams and commands while files change and Sluice drains, requests of pages of other origins,
// and that no secret is shown.
package api
