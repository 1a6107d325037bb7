// Package encodedcharacters is the middleware encodedCharacters: it refuses reserved characters that arrive
// percent-encoded in a path.
//
// What flows in: a request with a canonical path. What flows out: the request as it was, or status 400. It looks at
// the path as it is when the request comes by, after the middlewares before it, and never at the query.
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

// New takes the definition, which can't be wrong: every character that it does not allow is refused.
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

// NoRetain says that no part of a request outlives its handler here.
func (*EncodedCharacters) NoRetain() {}

// Wrap returns a handler that answers 400 to a path with an encoded character that is not allowed, and calls next for
// every other one.
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
