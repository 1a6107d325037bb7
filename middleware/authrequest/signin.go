package authrequest

import (
	"net/http"
)

// SignIn returns the URL where the client of a request is sent in place of 401; empty without signinURL. In a
// satisfyAny it is for the refusals of all members.
func (a *AuthRequest) SignIn(r *http.Request) string {
	if !a.settings.signsIn {
		return ""
	}
	return string(a.settings.signIn.Append(nil, a.settings.valuesOf(r)))
}
