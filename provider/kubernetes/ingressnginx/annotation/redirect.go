package annotation

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// rewrite reads the annotations about paths.
func (r *reading) rewrite() {
	defaults := r.settings
	out := &r.options.Rewrite
	if target, state := r.text("rewrite-target", captureChars.holds); state == valid {
		out.Target = target
	}
	out.UseRegex = r.flagOr("use-regex", false)
	out.SSLRedirect = r.flagOr("ssl-redirect", defaults.SSLRedirect)
	out.ForceSSLRedirect = r.flagOr("force-ssl-redirect", defaults.ForceSSLRedirect)
	out.PreserveTrailingSlash = r.flagOr("preserve-trailing-slash", defaults.PreserveTrailingSlash)
	r.options.Redirect.UsePort = r.flagOr("use-port-in-redirects", defaults.UsePortInRedirects)

	aliases, state := r.text("server-alias", func(text string) bool {
		return all(strings.Split(text, ","), serverName)
	})
	if state == wrong {
		r.refuse("server-alias")
	}
	r.options.Aliases = list(aliases)
	slices.Sort(r.options.Aliases)
	r.options.Aliases = slices.Compact(r.options.Aliases)

	root, state := r.text("app-root", captureChars.holds)
	if state != valid {
		return
	}
	if parsed, err := url.ParseRequestURI(root); err != nil || parsed.IsAbs() {
		r.useless("app-root", root)
		return
	}
	out.AppRoot = root
}

// redirect reads the annotations that answer by a redirect. One that is empty costs all of them their effect, as does
// the temporary redirect to something that is no URL.
func (r *reading) redirect() {
	out := &r.options.Redirect
	out.Relative = r.settings.RelativeRedirects
	www, state := r.flag("from-to-www-redirect")
	if !r.unspoiled("from-to-www-redirect", state) {
		return
	}
	relative, state := r.flag("relative-redirects")
	if !r.unspoiled("relative-redirects", state) {
		return
	}
	temporal, state := r.text("temporal-redirect", urlChars.holds)
	if !r.unspoiled("temporal-redirect", state) {
		return
	}
	if state == valid {
		code, state := r.number("temporal-redirect-code")
		if !r.unspoiled("temporal-redirect-code", state) {
			return
		}
		if target, err := url.Parse(temporal); err != nil || !strings.HasPrefix(target.Scheme, "http") {
			r.spoil("temporal-redirect", quote(temporal)+" is no URL of http or https")
			return
		}
		if code < http.StatusMultipleChoices || code > http.StatusTemporaryRedirect {
			code = http.StatusFound
		}
		r.idle("temporal-redirect as the only redirect", "permanent-redirect", "permanent-redirect-code")
		out.URL, out.Code, out.FromToWWW, out.Relative = temporal, code, www, out.Relative || relative
		return
	}
	r.idle("temporal-redirect", "temporal-redirect-code")
	r.permanent(www, relative)
}

// permanent reads the redirect that temporal-redirect would replace.
func (r *reading) permanent(www, relative bool) {
	out := &r.options.Redirect
	permanent, state := r.text("permanent-redirect", urlChars.holds)
	if !r.unspoiled("permanent-redirect", state) {
		return
	}
	code, state := r.number("permanent-redirect-code")
	if !r.unspoiled("permanent-redirect-code", state) {
		return
	}
	if code < http.StatusMultipleChoices || code > http.StatusPermanentRedirect {
		code = http.StatusMovedPermanently
	}
	out.URL, out.FromToWWW, out.Relative = permanent, www, out.Relative || relative
	if permanent == "" {
		r.idle("permanent-redirect", "permanent-redirect-code")
		return
	}
	out.Code = code
}

// unspoiled reports whether redirects are read on after the annotation.
func (r *reading) unspoiled(name string, state state) bool {
	switch state {
	case wrong:
		r.refuse(name)
	case blank:
		r.spoil(name, "the value is empty")
	default:
		return true
	}
	return false
}

// spoil notes why no annotation about redirects has an effect.
func (r *reading) spoil(name, reason string) {
	group := []string{
		"from-to-www-redirect", "relative-redirects", "temporal-redirect", "temporal-redirect-code", "permanent-redirect",
		"permanent-redirect-code",
	}
	for _, other := range slices.DeleteFunc(group, func(one string) bool { return one == name }) {
		if _, given := r.values[other]; given {
			r.set(other, Unused, "ingress-nginx ignores all annotations about redirects because of "+Prefix+name)
		}
	}
	r.set(name, Unused, reason+", for which ingress-nginx ignores all annotations about redirects")
}
