package authrequest

import (
	"net/http"

	"github.com/sluiceproxy/sluice/nginx/variable"
	"github.com/sluiceproxy/sluice/telemetry"
)

// SignIn returns the URL where the client of a request is sent in place of 401; empty without signinURL. In a
// satisfyAny it is for the refusals of all members.
func (a *AuthRequest) SignIn(r *http.Request) string {
	if !a.settings.signsIn {
		return ""
	}
	values := &variable.Live{Request: r, Client: telemetry.RecordFrom(r.Context()).Client}
	return string(a.settings.signIn.Append(nil, values))
}
