package jwt

import (
	"errors"
	"net/http"
	"strings"

	"github.com/sluiceproxy/sluice/middleware/answer"
)

// refusalKind says how a request is refused.
type refusalKind int

// The kinds, by RFC 6750 section 3.1 where it has one.
const (
	absent       refusalKind = iota // No token: nothing is said beyond the scheme.
	several                         // More than one: invalid_request.
	invalid                         // A token that is not taken: invalid_token.
	unknownKey                      // As invalid, and a newer key set may verify it.
	insufficient                    // A token without a claim: insufficient_scope.
	keyless                         // There are no keys.
)

// refusal is why a request does not pass. The reason is one clause of ours, and holds nothing of the token.
type refusal struct {
	kind   refusalKind
	reason string
}

func refuse(kind refusalKind, reason string) *refusal { return &refusal{kind: kind, reason: reason} }

// defaultRealm is the realm unless one is set.
const defaultRealm = "sluice"

// challenge returns the beginning of WWW-Authenticate, with the realm as a quoted-string (RFC 9110 section 5.6.4).
func challenge(realm string) (string, error) {
	if realm == "" {
		realm = defaultRealm
	}
	if hasControl(realm) {
		return "", errors.New("jwt.realm has a control character")
	}
	return `Bearer realm="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(realm) + `"`, nil
}

// retryAfter is when a key set may be there, in seconds: no fetch comes earlier.
const retryAfter = "10"

// refuse answers a request.
func (j *JWT) refuse(w http.ResponseWriter, r *http.Request, refused *refusal) {
	status, code := http.StatusUnauthorized, `, error="invalid_token"`
	switch refused.kind {
	case absent:
		code = ""
		j.counts.challenged.Add(1)
	case several:
		status, code = http.StatusBadRequest, `, error="invalid_request"`
		j.counts.refused.Add(1)
	case insufficient:
		status, code = http.StatusForbidden, `, error="insufficient_scope"`
		j.counts.forbidden.Add(1)
	case keyless:
		j.counts.unavailable.Add(1)
		if r.Context().Err() != nil {
			answer.Leave(w, r, j.name, "there were keys")
			return
		}
		w.Header()["Retry-After"] = []string{retryAfter}
		answer.Refuse(w, r, http.StatusServiceUnavailable, j.name, refused.reason)
		return
	case invalid, unknownKey:
		j.counts.refused.Add(1)
	}
	w.Header()["Www-Authenticate"] = []string{j.challenge + code}
	answer.Refuse(w, r, status, j.name, refused.reason)
}

// hasControl reports whether text has an ASCII control character.
func hasControl(text string) bool {
	return strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c == 0x7f })
}
