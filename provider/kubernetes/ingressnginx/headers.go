package ingressnginx

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/nginx/variable"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/annotation"
)

// objects returns the names for which variables of ingress-nginx stand.
func (d *locationDraft) objects() map[string]string {
	names := map[string]string{"namespace": "", "ingress_name": "", "service_name": "", "service_port": ""}
	if d.ingress != nil {
		names["namespace"], names["ingress_name"] = d.ingress.Namespace, d.ingress.Name
	}
	if key, given := serviceOf(d.declared()); given {
		names["service_name"], names["service_port"] = key.Service, key.Port
	}
	return names
}

// text returns a text with the location's names in place of their variables. An error names a variable without a
// value here; groups of a pattern have one with captures alone.
func (d *locationDraft) text(value string, captures bool) (string, error) {
	if strings.Contains(value, "$") {
		for name, text := range d.objects() {
			value = strings.NewReplacer("${"+name+"}", text, "$"+name, text).Replace(value)
		}
	}
	parsed, err := variable.Parse(value)
	if err == nil {
		err = variable.CheckLive(parsed, captures)
	}
	return value, err
}

// strictTransport returns the header of HSTS, which responses over TLS have.
func strictTransport(hsts *annotation.HSTS) string {
	value := "max-age=" + strconv.FormatInt(hsts.MaxAge, 10)
	if hsts.IncludeSubdomains {
		value += "; includeSubDomains"
	}
	if hsts.Preload {
		value += "; preload"
	}
	return value
}

// hidden are the headers of endpoints that clients do not get from nginx.
func hidden() []string {
	return []string{
		"Server", "X-Accel-Buffering", "X-Accel-Charset", "X-Accel-Expires", "X-Accel-Limit-Rate", "X-Accel-Redirect",
		"X-Pad",
	}
}

// responseHeaders sets and hides headers of responses. Those of the annotation win over those of the ConfigMap, and
// both over HSTS.
func (d *locationDraft) responseHeaders() {
	settings := d.settings()
	set := map[string]string{}
	if d.tls && settings.HSTS.Enabled {
		set["Strict-Transport-Security"] = strictTransport(&settings.HSTS)
	}
	added := d.headersOf(settings.AddHeaders)
	for _, name := range slices.Sorted(maps.Keys(added)) {
		value := added[name]
		switch {
		case !validName(name) || framing(name) || !validValue(value):
		case strings.Contains(value, "$"):
			d.degradeAll("add-headers of the ConfigMap: " + name + " has variables, and is left out")
		default:
			set[http.CanonicalHeaderKey(name)] = value
		}
	}
	for name, value := range d.customHeaders() {
		if set[name] = value; len(d.options.Errors.Statuses) > 0 {
			delete(set, name)
		}
	}
	made := &dynamic.ResponseHeaderModifier{Set: valuesOf(set)}
	removed := map[string]bool{}
	for _, name := range slices.Concat(hidden(), settings.HideHeaders) {
		removed[http.CanonicalHeaderKey(name)] = validName(name) && !framing(name)
	}
	if settings.AllowBackendServerHeader {
		delete(removed, "Server")
	}
	for _, name := range slices.Sorted(maps.Keys(removed)) {
		if _, given := set[name]; removed[name] && !given {
			made.Remove = append(made.Remove, name)
		}
	}
	d.use(phaseResponse, "headers", &dynamic.Middleware{ResponseHeaderModifier: made})
}

// valuesOf returns headers in the order of their names.
func valuesOf(set map[string]string) []dynamic.HeaderValue {
	var values []dynamic.HeaderValue
	for _, name := range slices.Sorted(maps.Keys(set)) {
		values = append(values, dynamic.HeaderValue{Name: name, Value: set[name]})
	}
	return values
}

// locationHeaders sets the headers of the annotation where there are error pages, which come from another location and
// do not have them.
func (d *locationDraft) locationHeaders() {
	custom := d.customHeaders()
	if len(custom) > 0 && len(d.options.Errors.Statuses) > 0 {
		d.use(phaseErrors, "headers", &dynamic.Middleware{
			ResponseHeaderModifier: &dynamic.ResponseHeaderModifier{Set: valuesOf(custom)},
		})
	}
}

// customHeaders returns the headers of the annotation. A ConfigMap that ingress-nginx does not accept denies the
// location.
func (d *locationDraft) customHeaders() map[string]string {
	set := map[string]string{}
	from := d.options.Backend.CustomHeaders
	if from == nil {
		return set
	}
	d.need(backend.KindConfigMap, from.Namespace, from.Name)
	given := d.provider.watches.ConfigMap(from.Namespace, from.Name)
	if given == nil {
		d.refuse(dynamic.CodeMissingReference, "custom-headers: ConfigMap "+from.Namespace+"/"+from.Name+" does not exist",
			true)
		return set
	}
	for _, name := range slices.Sorted(maps.Keys(given.Data)) {
		value := given.Data[name]
		switch {
		case !plainName(name) || framing(name):
			d.refuse(dynamic.CodeInvalidOption, "custom-headers: "+strconv.Quote(name)+" is no name of a header that can be set",
				false)
		case value == "" || !validValue(value):
			d.refuse(dynamic.CodeInvalidOption, "custom-headers: the value of "+name+" is none of a header", false)
		case !slices.Contains(d.settings().AllowedResponseHeaders, name):
			d.refuse(dynamic.CodeReferenceNotPermitted, "custom-headers: global-allowed-response-headers does not list "+name,
				false)
		default:
			set[http.CanonicalHeaderKey(name)] = value
		}
	}
	return set
}

// headersOf returns the headers that a ConfigMap has; none when it does not exist.
func (d *locationDraft) headersOf(from *annotation.Reference) map[string]string {
	if from == nil {
		return nil
	}
	d.need(backend.KindConfigMap, from.Namespace, from.Name)
	if given := d.provider.watches.ConfigMap(from.Namespace, from.Name); given != nil {
		return given.Data
	}
	return nil
}

// plainName reports whether a name has letters, digits and dashes alone.
func plainName(name string) bool {
	return validName(name) && !strings.ContainsFunc(name, func(r rune) bool { return r != '-' && !isAlphanumeric(r) })
}

func isAlphanumeric(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// validName reports whether a text can be the name of a header or a cookie (RFC 9110, section 5.6.2).
func validName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !isAlphanumeric(r) && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

func validValue(value string) bool {
	return !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// framing reports whether a header is about one connection, or the length of a message, and is the proxy's own.
func framing(name string) bool {
	switch http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-")) {
	case "Connection", "Content-Length", "Expect", "Http2-Settings", "Keep-Alive", "Proxy-Connection", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade":
		return true
	}
	return false
}

// proxyRedirect replaces in the headers Location and Refresh of endpoints.
func (d *locationDraft) proxyRedirect() {
	from, to := d.options.Proxy.RedirectFrom, d.options.Proxy.RedirectTo
	if from == "" || from == "default" {
		return // The default is about the name of the upstream, which no endpoint has.
	}
	if rewrite, ok := d.replacement("proxy-redirect-from", from, to); ok {
		d.use(phaseRequest, "proxyredirect", &dynamic.Middleware{ProxyRedirect: &dynamic.ProxyRedirect{
			Rewrites: []dynamic.ProxyRewrite{rewrite}, Relative: d.options.Redirect.Relative,
		}})
	}
}

// replacement returns a replacement of a header's value; false when one of its texts cannot be used.
func (d *locationDraft) replacement(name, from, to string) (dynamic.ProxyRewrite, bool) {
	pattern := strings.HasPrefix(from, "~")
	var err error
	if !pattern {
		from, err = d.text(from, false)
	}
	if err == nil {
		to, err = d.text(to, pattern)
	}
	if err != nil {
		d.degrade(dynamic.CodeInvalidOption, name+": "+err.Error()+"; nothing is replaced", false)
	}
	return dynamic.ProxyRewrite{From: from, To: to}, err == nil
}

// proxyCookie replaces in the cookies of endpoints.
func (d *locationDraft) proxyCookie() {
	made := &dynamic.ProxyCookie{}
	if one := d.options.Proxy.CookieDomain; one != nil {
		if rewrite, ok := d.replacement("proxy-cookie-domain", one.From, one.To); ok {
			made.Domain = []dynamic.ProxyRewrite{rewrite}
		}
	}
	if one := d.options.Proxy.CookiePath; one != nil {
		if rewrite, ok := d.replacement("proxy-cookie-path", one.From, one.To); ok {
			made.Path = []dynamic.ProxyRewrite{rewrite}
		}
	}
	if len(made.Domain)+len(made.Path) == 0 {
		return
	}
	if cookie := d.cookie(); cookie != nil {
		made.Exclude = []string{cookie.Name, canaryCookie(cookie.Name)}
	}
	d.use(phaseRequest, "proxycookie", &dynamic.Middleware{ProxyCookie: made})
}

// compression compresses responses, by brotli for clients that accept both.
func (d *locationDraft) compression() {
	settings := d.settings()
	for _, one := range []struct {
		encoding string
		options  *annotation.Compression
	}{{"gzip", &settings.Gzip}, {"br", &settings.Brotli}} {
		if !one.options.Enabled {
			continue
		}
		made := &dynamic.Compress{Encodings: []string{one.encoding}, MinResponseBodyBytes: max(1, one.options.MinLength)}
		types := append([]string{"text/html"}, one.options.Types...)
		if !slices.Contains(types, "*") {
			slices.Sort(types)
			made.IncludedContentTypes = slices.DeleteFunc(slices.Compact(types), func(text string) bool {
				kind, subtype, divided := strings.Cut(text, "/")
				return !divided || !validName(kind) || !validName(subtype)
			})
		}
		d.use(phaseResponse, "compress", &dynamic.Middleware{Compress: made})
	}
}

// requestHeaders sets the headers of requests to endpoints.
func (d *locationDraft) requestHeaders() {
	settings := d.settings()
	id := "$http_x_request_id"
	if settings.GenerateRequest {
		id = "$req_id"
	}
	headers := []dynamic.HeaderValue{
		{Name: "X-Request-ID", Value: id},
		{Name: "X-Forwarded-Scheme", Value: "$scheme"},
		{Name: "X-Scheme", Value: "$scheme"},
		{Name: "X-Original-Forwarded-For", Value: "$http_x_forwarded_for"},
		{Name: "X-Original-Forwarded-Host", Value: ""},
		{Name: "Proxy", Value: ""},
	}
	if settings.AddOriginalURI {
		headers = append(headers, dynamic.HeaderValue{Name: "X-Original-URI", Value: "$request_uri"})
	}
	headers, client := d.forwardedHeaders(headers)
	headers = d.setHeader(headers, "upstream-vhost", "Host", d.options.Backend.Host)
	if one := d.location(); one.Rewrite && !one.Plain {
		headers = d.setHeader(headers, "x-forwarded-prefix", "X-Forwarded-Prefix", d.options.Backend.ForwardedPrefix)
	}
	given := d.headersOf(settings.ProxySetHeaders)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !validName(name) || framing(name) {
			d.degradeAll("proxy-set-headers of the ConfigMap: " + strconv.Quote(name) + " can't be set")
			continue
		}
		text, err := d.text(given[name], false)
		if err != nil {
			d.degradeAll("proxy-set-headers of the ConfigMap: " + err.Error() + "; the header " + name + " is left as it is")
			continue
		}
		headers = replaced(headers, name, text)
	}
	d.use(phaseRequest, "proxyheaders", &dynamic.Middleware{ProxySetHeader: &dynamic.ProxySetHeader{
		Headers: headers, IPStrategy: client,
	}})
}

// degradeAll adds a verdict on what is the same for all Ingresses, where the location belongs to none.
func (d *locationDraft) degradeAll(reason string) {
	if d.ingress == nil {
		d.degrade(dynamic.CodeUnsupportedOption, reason, false)
	}
}

// setHeader adds a header to a list, unless its value is empty, or has a variable without a value.
func (d *locationDraft) setHeader(headers []dynamic.HeaderValue, from, name, value string) []dynamic.HeaderValue {
	if value == "" {
		return headers
	}
	text, err := d.text(value, false)
	if err == nil && name == "Host" && !strings.Contains(text, "$") && !hostLike(text) {
		err = errNoHost
	}
	if err != nil {
		d.degrade(dynamic.CodeInvalidOption, from+": "+err.Error()+"; the header "+name+" is left as it is", false)
		return headers
	}
	return replaced(headers, name, text)
}

// errNoHost is why a Host header is left as it is.
var errNoHost = errors.New("it is no host")

// hostLike reports whether a text has the characters of a host alone, with a port or without.
func hostLike(text string) bool {
	return text != "" && text[0] != '.' && !strings.ContainsFunc(text, func(r rune) bool {
		return !isAlphanumeric(r) && !strings.ContainsRune("-._:[]", r)
	})
}

// replaced returns a list in which a header has a value, in place of one that it has.
func replaced(headers []dynamic.HeaderValue, name, value string) []dynamic.HeaderValue {
	headers = slices.DeleteFunc(headers, func(one dynamic.HeaderValue) bool { return strings.EqualFold(one.Name, name) })
	return append(headers, dynamic.HeaderValue{Name: name, Value: value})
}
