// Package reload tests that changing the configuration of the running binary loses nothing.
//
// In flow requests and streams by real clients while files are rewritten, renamed, broken and swapped; out flow what
// the clients got. It never looks at how a table is compiled.
package reload
