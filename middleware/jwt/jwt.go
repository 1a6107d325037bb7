// Package jwt is the middleware jwt: it lets requests in that carry a signed token (RFC 7519, RFC 6750).
//
// What flows in: a request with a token. What flows out: the same request, with claims of the token in headers if so configured, or an
// answer 401, 403 or 503. It never lets a request pass that it can't judge, never fetches what a token names, and never keeps a token.
package jwt

import (
	"net/http"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/answer"
	"github.com/sluiceproxy/sluice/telemetry"
)

// JWT is one configured jwt.
type JWT struct {
	name string
}

// Options are what a jwt needs beside its definition.
type Options struct {
	// ReadFile reads the files that the definition names.
	ReadFile func(path string) ([]byte, error)
	// Logger gets a line when the key set can't be fetched, and one when it can be again; nil logs nothing.
	Logger telemetry.Logger
}

// New checks the definition and reads its keys, unless they are to be fetched.
func New(name string, _ dynamic.JWT, _ Options) (*JWT, error) {
	return &JWT{name: name}, nil
}

// Wrap returns a handler that lets requests with a token pass to next.
func (j *JWT) Wrap(http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer.Refuse(w, r, http.StatusServiceUnavailable, j.name, "the keys are not there")
	})
}

// Close ends what the object keeps running.
func (*JWT) Close() {}
