// Package start tests how the built binary starts, serves and stops: configurations in Traefik's format, arguments,
// environment variables and signals, with clients of each protocol, the log, and exit codes.
package start
