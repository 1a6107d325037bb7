package annotation

import (
	"net/url"
	"slices"
	"strings"
)

// proxyTLS reads the annotations about TLS towards endpoints.
func (r *reading) proxyTLS() {
	text, state := r.text("proxy-ssl-secret", basicChars.spaced)
	switch {
	case r.long["proxy-ssl-secret"]:
		return
	case state == wrong:
		r.refuse("proxy-ssl-secret")
		return
	case state != valid:
		r.idle("proxy-ssl-secret", "proxy-ssl-ciphers", "proxy-ssl-name", "proxy-ssl-protocols", "proxy-ssl-server-name",
			"proxy-ssl-verify", "proxy-ssl-verify-depth")
		return
	}
	secret, problem := r.reference(text, false)
	if problem != "" {
		r.deny("proxy-ssl-secret", problem)
		return
	}
	out := &ProxyTLS{Secret: *secret, Ciphers: "DEFAULT", Protocols: []string{"TLSv1.2"}}
	r.options.ProxyTLS = out
	onOff := oneOfSpaced("on", "off")
	verify, state := r.text("proxy-ssl-verify", onOff)
	out.Verify = verify == "on"
	if state == wrong || state == valid && !oneOf("on", "off")(verify) {
		r.close("proxy-ssl-verify", "it must be on or off; ingress-nginx does not verify then")
	} else {
		r.agree("proxy-ssl-verify")
	}
	out.VerifyDepth = max(1, r.numberOr("proxy-ssl-verify-depth", 1))
	out.Name, _ = r.text("proxy-ssl-name", serverName)
	indication, _ := r.text("proxy-ssl-server-name", onOff)
	out.ServerName = indication == "on"
	if ciphers, state := r.text("proxy-ssl-ciphers", cipherChars.spaced); state == valid {
		out.Ciphers = ciphers
	}
	versions := func(text string) bool {
		return strings.NewReplacer("TLSv1.2", "", "TLSv1.3", "", " ", "").Replace(text) == ""
	}
	if text, state := r.text("proxy-ssl-protocols", versions); state == valid {
		var found []string
		for _, version := range []string{"TLSv1.2", "TLSv1.3"} {
			if slices.Contains(strings.Fields(text), version) {
				found = append(found, version)
			}
		}
		if len(found) > 0 {
			out.Protocols = found
		}
	}
}

// mirror reads the annotations about copies of requests.
func (r *reading) mirror() {
	target, state := r.text("mirror-target", serverName)
	if state != valid {
		r.idle("mirror-target", "mirror-host", "mirror-request-body")
		return
	}
	out := &Mirror{Target: target, RequestBody: true}
	r.options.Mirror = out
	if body, state := r.text("mirror-request-body", oneOfSpaced("on", "off")); state == valid {
		out.RequestBody = body != "off"
	}
	host, state := r.text("mirror-host", serverName)
	if state != valid {
		constant, _, _ := strings.Cut(target, "$")
		if parsed, err := url.Parse(constant); err == nil && parsed.Scheme != "" {
			host = parsed.Hostname()
		}
	}
	out.Host = host
}

// clientConnections reads the annotations about connections of clients.
func (r *reading) clientConnections() {
	out := &r.options.TLS
	var state state
	if out.Passthrough, state = r.flag("ssl-passthrough"); state == wrong {
		r.refuse("ssl-passthrough")
	}
	if out.Ciphers, state = r.text("ssl-ciphers", suiteChars.spaced); state == wrong {
		r.refuse("ssl-ciphers")
	}
	r.flag("ssl-prefer-server-ciphers")
	if _, state := r.flag("http2-push-preload"); state == wrong {
		r.refuse("http2-push-preload")
	}
}

// log reads the annotations about logs and traces.
func (r *reading) log() {
	r.options.Log.Access = r.flagOr("enable-access-log", true)
	r.flag("enable-rewrite-log")
	traced, state := r.flag("enable-opentelemetry")
	if state == valid {
		r.options.Log.Tracing = &traced
	}
	if !traced {
		r.idle("enable-opentelemetry: true", "opentelemetry-trust-incoming-span", "opentelemetry-operation-name")
		return
	}
	r.flag("opentelemetry-trust-incoming-span")
	if _, state := r.text("opentelemetry-operation-name", wordChars.spaced); state == wrong {
		r.refuse("opentelemetry-operation-name")
	}
}

// firewall reads the annotations about ModSecurity.
func (r *reading) firewall() {
	out := &r.options.Firewall
	enabled, state := r.flag("enable-modsecurity")
	out.Enabled = enabled || r.settings.Firewall && state != valid
	if state == wrong {
		out.Enabled = true
		r.set("enable-modsecurity", Unsupported, "it must be true or false: ingress-nginx has no firewall then, and neither "+
			"has Sluice")
	}
	rules := r.flagOr("enable-owasp-core-rules", false)
	r.text("modsecurity-transaction-id", variableChars.spaced)
	r.text("modsecurity-snippet", anything)
	if !out.Enabled {
		r.idle("enable-modsecurity: true", "enable-modsecurity", "enable-owasp-core-rules", "modsecurity-snippet",
			"modsecurity-transaction-id")
	} else if !rules {
		r.idle("the value true", "enable-owasp-core-rules")
	}
}
