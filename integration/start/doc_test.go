// Package start tests how the built binary starts, serves and stops, the way a user meets it.
//
// In flow configurations in Traefik's spelling, arguments, variables and signals; out flow what clients of each
// protocol got, what the log says, and exit codes. It never calls into the product.
package start
