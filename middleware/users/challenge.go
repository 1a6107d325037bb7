package users

import (
	"errors"
	"net/http"
	"strings"

	"github.com/sluiceproxy/sluice/middleware/answer"
)

// defaultRealm is Traefik's.
const defaultRealm = "traefik"

// Realm returns the value of an option realm, which is "traefik" unless it is set, and the same as a quoted-string
// (RFC 9110 section 5.6.4). One with a control character is an error, which begins with the option.
func Realm(option, value string) (realm, quoted string, err error) {
	if value == "" {
		value = defaultRealm
	}
	if HasControl(value) {
		return "", "", errors.New(option + " has a control character")
	}
	return value, `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`, nil
}

// Refuse answers 401 with the challenges, the best first, and notes in the request's record which middleware refused
// it and why.
func Refuse(w http.ResponseWriter, r *http.Request, middleware, reason string, challenges ...string) {
	answer.Note(r, middleware, reason)
	w.Header()["Www-Authenticate"] = challenges
	http.Error(w, "401 Unauthorized", http.StatusUnauthorized)
}
