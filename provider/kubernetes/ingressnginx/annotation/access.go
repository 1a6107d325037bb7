package annotation

import "strings"

// access reads the lists of addresses.
func (r *reading) access() {
	r.options.Access.Allow = r.networks("allowlist-source-range", r.settings.Allow)
	r.options.Access.Deny = r.networks("denylist-source-range", r.settings.Deny)
	satisfy, _ := r.text("satisfy", oneOf("any", "all"))
	r.options.Access.SatisfyAny = satisfy == "any"
}

// networks reads a list of addresses, which is denied unless all of them are valid.
func (r *reading) networks(name string, otherwise []string) []string {
	text, state := r.text(name, networkList)
	if state == absent {
		return otherwise
	}
	found, ok := networks(text)
	if state != valid || !ok {
		r.deny(name, quote(r.values[r.key(name)])+" is no list of addresses and networks")
		return nil
	}
	return found
}

// auth reads the annotations about passwords.
func (r *reading) auth() {
	r.options.GlobalAuth = r.flagOr("enable-global-auth", true)
	others := []string{"auth-secret-type", "auth-secret", "auth-realm"}
	// Words around it are accepted when the Ingress is read, but not by nginx.
	kind, state := r.text("auth-type", func(text string) bool {
		return strings.Contains(text, "basic") || strings.Contains(text, "digest")
	})
	switch {
	case r.long["auth-type"]:
		return
	case state == wrong || state == valid && kind != "basic" && kind != "digest":
		r.refuse("auth-type")
		return
	case state != valid:
		r.idle("auth-type", others...)
		return
	}
	out := &Auth{Digest: kind == "digest"}
	r.options.Auth = out
	form, state := r.text("auth-secret-type", func(text string) bool {
		return strings.Contains(text, "auth-file") || strings.Contains(text, "auth-map")
	})
	switch {
	case state == wrong:
		r.refuse("auth-secret-type")
		return
	case state == valid && form != "auth-file" && form != "auth-map":
		r.deny("auth-secret-type", quote(form)+" is neither auth-file nor auth-map")
		return
	}
	out.Map = form == "auth-map"
	text, state := r.text("auth-secret", basicChars.spaced)
	switch state {
	case valid:
	case absent:
		r.deny("auth-type", "it needs "+Prefix+"auth-secret")
		return
	default:
		r.deny("auth-secret", "it must name the Secret of "+Prefix+"auth-type")
		return
	}
	secret, problem := r.reference(text, true)
	if problem != "" {
		r.deny("auth-secret", problem)
		return
	}
	out.Secret = *secret
	out.Realm, state = r.text("auth-realm", spacedChars.holds)
	if state == wrong {
		r.refuse("auth-realm")
	}
}

// clientTLS reads the annotations about certificates of clients.
func (r *reading) clientTLS() {
	others := []string{
		"auth-tls-verify-client", "auth-tls-verify-depth", "auth-tls-error-page",
		"auth-tls-pass-certificate-to-upstream", "auth-tls-match-cn",
	}
	text, state := r.text("auth-tls-secret", basicChars.spaced)
	switch {
	case r.long["auth-tls-secret"]:
		r.options.ClientTLS = &ClientTLS{Denied: "auth-tls-secret is too long"}
		return
	case state == wrong:
		r.refuse("auth-tls-secret")
		r.options.ClientTLS = &ClientTLS{Denied: r.why("auth-tls-secret")}
		return
	case state != valid:
		r.idle("auth-tls-secret", others...)
		return
	}
	secret, problem := r.reference(text, false)
	if problem != "" {
		r.deny("auth-tls-secret", problem)
		r.options.ClientTLS = &ClientTLS{Denied: problem}
		return
	}
	out := &ClientTLS{Secret: *secret, Mode: "on"}
	r.options.ClientTLS = out
	if mode, state := r.text("auth-tls-verify-client", oneOfSpaced("on", "off", "optional",
		"optional_no_ca")); state == valid && oneOf("on", "off", "optional", "optional_no_ca")(mode) {
		out.Mode = mode
	}
	out.Depth = max(1, r.numberOr("auth-tls-verify-depth", 1))
	out.ErrorPage, state = r.text("auth-tls-error-page", errorPage)
	if state == wrong {
		r.refuse("auth-tls-error-page")
	}
	out.PassCertificate, state = r.flag("auth-tls-pass-certificate-to-upstream")
	if state == wrong {
		r.refuse("auth-tls-pass-certificate-to-upstream")
	}
	out.MatchCN, state = r.text("auth-tls-match-cn", commonName)
	switch {
	case r.long["auth-tls-match-cn"]:
		*out = ClientTLS{Denied: "auth-tls-match-cn is too long"}
	case state == wrong: // Without it, any certificate of the authority would open the host's other Ingresses.
		r.refuse("auth-tls-match-cn")
		*out = ClientTLS{Denied: r.why("auth-tls-match-cn")}
	}
}
