package annotation

import "strings"

// backend reads the annotations about the way to endpoints.
func (r *reading) backend() {
	out := &r.options.Backend
	out.Protocol = "HTTP"
	protocols := oneOf("auto_http", "http", "https", "grpc", "grpcs", "fcgi")
	if protocol, state := r.text("backend-protocol", func(text string) bool {
		return protocols(strings.ToLower(text))
	}); state == valid {
		out.Protocol = strings.ToUpper(protocol)
	}
	r.fastCGI()
	out.ServiceUpstream = r.settings.ServiceUpstream
	if value, state := r.flag("service-upstream"); state != absent {
		out.ServiceUpstream = value
	}
	out.EWMA = r.settings.EWMA
	switch algorithm, state := r.text("load-balance", oneOf("round_robin", "chash", "chashsubset", "sticky_balanced",
		"sticky_persistent", "ewma")); {
	case state == wrong:
		r.refuse("load-balance")
	case state == valid:
		out.EWMA = algorithm == "ewma"
		if algorithm != "ewma" && algorithm != "round_robin" {
			r.set("load-balance", Different, quote(algorithm)+" needs annotations of its own, without which requests fail "+
				"in nginx; endpoints get requests in turn")
		}
	}
	r.hashBy()
	r.headers()
	service, state := r.text("default-backend", serviceName)
	if state == wrong {
		r.refuse("default-backend")
	}
	out.Default = service
}

// fastCGI reads the annotations about FastCGI, which is not spoken.
func (r *reading) fastCGI() {
	if _, state := r.text("fastcgi-index", fileChars.spaced); state == wrong {
		r.refuse("fastcgi-index")
	}
	if _, state := r.text("fastcgi-params-configmap", basicChars.spaced); state == wrong {
		r.refuse("fastcgi-params-configmap")
	}
	if r.options.Backend.Protocol == "FCGI" {
		r.close("backend-protocol", "FastCGI is not spoken; use a web server beside the application")
		return
	}
	r.idle("backend-protocol: FCGI", "fastcgi-index", "fastcgi-params-configmap")
}

// hashBy reads the annotations about placement by a hash. One that is empty costs all of them their effect.
func (r *reading) hashBy() {
	expression, first := r.text("upstream-hash-by", variableChars.spaced)
	subset, second := r.flag("upstream-hash-by-subset")
	size, third := r.number("upstream-hash-by-subset-size")
	spoiled := false
	names := []string{"upstream-hash-by", "upstream-hash-by-subset", "upstream-hash-by-subset-size"}
	for i, state := range []state{first, second, third} {
		if state == wrong {
			r.refuse(names[i])
		}
		spoiled = spoiled || state == blank
	}
	if expression == "" || spoiled {
		r.idle("upstream-hash-by, and any of them that is empty", "upstream-hash-by-subset",
			"upstream-hash-by-subset-size")
		if spoiled {
			r.idle("upstream-hash-by-subset and its size being set or absent", "upstream-hash-by")
		}
		return
	}
	r.options.Backend.HashBy = expression
	if !subset {
		r.idle("upstream-hash-by-subset", "upstream-hash-by-subset-size")
		return
	}
	if size <= 0 {
		size = 3
	}
	r.options.Backend.SubsetSize = size
}

// headers reads the annotations about headers.
func (r *reading) headers() {
	out := &r.options.Backend
	host, state := r.text("upstream-vhost", serverName)
	if state == wrong {
		r.refuse("upstream-vhost")
	}
	out.Host = host
	connection, state := r.text("connection-proxy-header", oneOfSpaced("close", "keep-alive"))
	if state == wrong {
		r.refuse("connection-proxy-header")
	}
	if !oneOf("close", "keep-alive", "")(connection) {
		r.reject("connection-proxy-header", "nginx does not accept "+quote(connection))
	}
	prefix, state := r.text("x-forwarded-prefix", captureChars.spaced)
	switch {
	case state == wrong:
		r.refuse("x-forwarded-prefix")
	case r.options.Rewrite.Target == "":
		r.idle("rewrite-target", "x-forwarded-prefix")
	default:
		out.ForwardedPrefix = prefix
	}
	if text, state := r.text("custom-headers", basicChars.spaced); state == valid {
		reference, problem := r.reference(text, false)
		if problem != "" {
			r.deny("custom-headers", problem)
		}
		out.CustomHeaders = reference
	}
}

// serviceName reports whether a text may be the name of a Service (RFC 1035).
func serviceName(text string) bool {
	const most = 63
	if text == "" || len(text) > most || text[0] < 'a' || text[0] > 'z' || text[len(text)-1] == '-' {
		return false
	}
	return strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" && text == strings.ToLower(text)
}

// errors reads the annotations about error pages.
func (r *reading) errors() {
	out := &r.options.Errors
	out.Statuses = r.settings.CustomHTTPErrors
	out.KeepUpstream = r.settings.DisableProxyInterceptErrors
	keep := r.flagOr("disable-proxy-intercept-errors", false)
	text, state := r.text("custom-http-errors", func(text string) bool {
		return strings.Trim(strings.ReplaceAll(text, " ", ""), "0123456789,") == ""
	})
	if state == wrong {
		r.refuse("custom-http-errors")
	}
	statuses, ok := statusList(text)
	if state == valid && !ok {
		r.reject("custom-http-errors", quote(text)+" is no list of statuses from 400 to 599 without 499")
	}
	if state != valid || len(statuses) == 0 {
		r.idle("custom-http-errors", "disable-proxy-intercept-errors")
		return
	}
	out.Statuses, out.KeepUpstream = statuses, keep
}
