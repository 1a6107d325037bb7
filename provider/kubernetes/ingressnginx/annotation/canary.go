package annotation

import (
	"strconv"
	"strings"
)

// canary reads the annotations about a share of the requests.
func (r *reading) canary() {
	out := Canary{Enabled: r.flagOr("canary", false)}
	out.Weight = r.anyNumberOr("canary-weight", 0)
	out.WeightTotal = max(100, r.anyNumberOr("canary-weight-total", 100))
	out.Header, _ = r.text("canary-by-header", basicChars.spaced)
	out.HeaderValue, _ = r.text("canary-by-header-value", basicChars.spaced)
	out.HeaderPattern, _ = r.text("canary-by-header-pattern", patternChars.holds)
	out.Cookie, _ = r.text("canary-by-cookie", basicChars.spaced)
	if !out.Enabled {
		r.idle("canary: true", "canary-weight", "canary-weight-total", "canary-by-header", "canary-by-header-value",
			"canary-by-header-pattern", "canary-by-cookie")
		return
	}
	if out.Header == "" {
		r.idle("canary-by-header", "canary-by-header-value", "canary-by-header-pattern")
		out.HeaderValue, out.HeaderPattern = "", ""
	}
	if out.HeaderValue != "" && out.HeaderPattern != "" {
		r.set("canary-by-header-pattern", Unused, "canary-by-header-value wins")
		out.HeaderPattern = ""
	}
	out.Weight = max(0, min(out.Weight, out.WeightTotal))
	r.options.Canary = out
}

// affinity reads the annotations about sticky sessions.
func (r *reading) affinity() {
	out := &r.options.Affinity
	out.Mode, _ = r.text("affinity-mode", oneOf("balanced", "persistent"))
	behavior, _ := r.text("affinity-canary-behavior", oneOf("sticky", "legacy"))
	out.LegacyCanary = behavior == "legacy"
	if _, state := r.text("affinity", oneOf("cookie")); state != valid {
		r.idle("affinity: cookie", "session-cookie-name", "session-cookie-expires", "session-cookie-max-age",
			"session-cookie-path", "session-cookie-domain", "session-cookie-samesite",
			"session-cookie-secure", "session-cookie-conditional-samesite-none", "session-cookie-change-on-failure")
		return
	}
	cookie := &Cookie{Name: "INGRESSCOOKIE"}
	out.Cookie = cookie
	if name, state := r.text("session-cookie-name", basicChars.spaced); state == valid {
		cookie.Name = name
		if !cookieName(name) {
			r.set("session-cookie-name", Different, quote(name)+" is no name of a cookie; INGRESSCOOKIE is used")
			cookie.Name = "INGRESSCOOKIE"
		}
	}
	cookie.Expires = r.seconds("session-cookie-expires")
	cookie.MaxAge = r.seconds("session-cookie-max-age")
	cookie.Path, _ = r.text("session-cookie-path", urlChars.spaced)
	cookie.Domain, _ = r.text("session-cookie-domain", basicChars.spaced)
	sameSite, _ := r.text("session-cookie-samesite", func(text string) bool {
		return oneOf("none", "lax", "strict")(strings.ToLower(text))
	})
	if sameSite != "" {
		cookie.SameSite = strings.ToUpper(sameSite[:1]) + strings.ToLower(sameSite[1:])
	}
	cookie.Secure = r.flagOr("session-cookie-secure", false)
	cookie.ConditionalSameSiteNone = r.flagOr("session-cookie-conditional-samesite-none", false)
	cookie.ChangeOnFailure = r.flagOr("session-cookie-change-on-failure", false)
}

// cookieName reports whether a text may be a name of a cookie (RFC 6265, section 4.1.1), of the characters that
// ingress-nginx accepts.
func cookieName(text string) bool { return charset("-._~").holds(text) }

// seconds reads a number of seconds, which ingress-nginx passes on unread.
func (r *reading) seconds(name string) *int {
	text, state := r.text(name, func(text string) bool {
		digits := text[len(strings.TrimRight(text, "0123456789")):]
		return strings.HasPrefix(text, "0") || strings.Trim(digits, "0") != ""
	})
	if state != valid {
		return nil
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		r.set(name, Different, quote(text)+" is no number of seconds, and is ignored")
		return nil
	}
	found := int(max(-mostNumber, min(number, mostNumber)))
	return &found
}
