// Package api tests what the management API of the running binary answers, to whom, and what it never tells.
//
// In flow questions of scripts, pages of other origins, listeners and commands, while files change and Sluice drains;
// out flow answers, each of which is held against the OpenAPI document that the same Sluice publishes. It never looks
// at how an answer is made.
package api
