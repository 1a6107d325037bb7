// Package encodedcharacters implements the middleware encodedCharacters, which refuses paths with percent-encoded
// reserved characters with 400. It checks the path after earlier middlewares, and not the query.
package encodedcharacters

import (
	"net/http"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/answer"
)

// EncodedCharacters is one configured encodedCharacters.
type EncodedCharacters struct {
	name    string
	allowed canonical.EncodedCharacters
}

// New returns the middleware; every definition is valid. Characters that it does not allow are refused.
func New(name string, config dynamic.EncodedCharacters) (*EncodedCharacters, error) {
	return &EncodedCharacters{name: name, allowed: canonical.EncodedCharacters{
		AllowSlash:         config.AllowEncodedSlash,
		AllowBackSlash:     config.AllowEncodedBackSlash,
		AllowNullCharacter: config.AllowEncodedNullCharacter,
		AllowSemicolon:     config.AllowEncodedSemicolon,
		AllowPercent:       config.AllowEncodedPercent,
		AllowQuestionMark:  config.AllowEncodedQuestionMark,
		AllowHash:          config.AllowEncodedHash,
	}}, nil
}

// NoRetain implements httpio.NoRetainer.
func (*EncodedCharacters) NoRetain() {}

// Wrap returns a handler that answers 400 to a path with a disallowed encoded character, and otherwise calls next.
func (e *EncodedCharacters) Wrap(next http.Handler) http.Handler {
	if e.allowed == canonical.AllowAllEncoded() {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, _ := canonical.EscapedPath(r)
		if err := e.allowed.Check(path); err != nil {
			answer.BadRequest(w, r, e.name, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}
