// Package reload tests that changes of the running binary's configuration lose nothing: real clients send requests and
// streams while files are rewritten, renamed, broken and swapped.
package reload
