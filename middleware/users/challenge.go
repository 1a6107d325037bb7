package users

import (
	"errors"
	"net/http"
	"strings"

	"github.com/sluiceproxy/sluice/middleware/answer"
)

// defaultRealm is Traefik's default.
const defaultRealm = "traefik"

// Realm returns the value of an option realm, by default "traefik" unless it is exact, and its form as a quoted-string
// (RFC 9110 section 5.6.4). A control character is an error, which begins with the option.
func Realm(option, value string, exact bool) (realm, quoted string, err error) {
	if value == "" && !exact {
		value = defaultRealm
	}
	if HasControl(value) {
		return "", "", errors.New(option + " has a control character")
	}
	return value, `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`, nil
}

// Refuse answers 401 with the challenges, best first, and records the middleware and the reason.
func Refuse(w http.ResponseWriter, r *http.Request, middleware, reason string, challenges ...string) {
	answer.Note(r, middleware, reason)
	w.Header()["Www-Authenticate"] = challenges
	http.Error(w, "401 Unauthorized", http.StatusUnauthorized)
}
