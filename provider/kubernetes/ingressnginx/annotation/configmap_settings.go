package annotation

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/provider/kubernetes/ingressnginx/snippet"
)

// settings reads the keys that have an effect.
func (c *configReading) settings() {
	c.redirects()
	c.proxy()
	c.limits()
	c.globalAuth()
	c.security()
	c.realIP()
	c.headers()
	c.compression("gzip", &c.out.Gzip)
	c.compression("brotli", &c.out.Brotli)
	c.tls()
	disabled, alsoDisabled := false, false
	c.flag("disable-access-log", &disabled)
	c.flag("disable-http-access-log", &alsoDisabled)
	c.out.AccessLog = !disabled && !alsoDisabled
	c.flag("enable-access-log-for-default-backend", &c.out.DefaultBackendLog)
}

func (c *configReading) redirects() {
	out := c.out
	c.flag("ssl-redirect", &out.SSLRedirect)
	c.flag("force-ssl-redirect", &out.ForceSSLRedirect)
	c.flag("preserve-trailing-slash", &out.PreserveTrailingSlash)
	c.flag("use-port-in-redirects", &out.UsePortInRedirects)
	c.flag("relative-redirects", &out.RelativeRedirects)
	code := strconv.Itoa(out.RedirectCode)
	c.word("http-redirect-code", &code, "301", "302", "307", "308")
	out.RedirectCode, _ = strconv.Atoi(code)
	c.list("no-tls-redirect-locations", &out.NoTLSRedirect)
	c.list("no-auth-locations", &out.NoAuth)

	c.flag("hsts", &out.HSTS.Enabled)
	c.flag("hsts-include-subdomains", &out.HSTS.IncludeSubdomains)
	c.flag("hsts-preload", &out.HSTS.Preload)
	if text, given := c.text("hsts-max-age"); given {
		if age, err := strconv.ParseInt(text, 10, 64); err == nil && age >= 0 {
			out.HSTS.MaxAge = age
		} else {
			c.set("hsts-max-age", Different, quote(text)+" is no number of seconds: the default is used, while ingress-nginx "+
				"sends the text")
		}
	}
}

func (c *configReading) proxy() {
	out := &c.out.Proxy
	c.bytes("proxy-body-size", &out.BodySize)
	c.bytes("client-body-buffer-size", &out.BodyBuffer)
	c.seconds("proxy-connect-timeout", &out.ConnectTimeout)
	c.seconds("proxy-read-timeout", &out.ReadTimeout)
	c.seconds("proxy-send-timeout", &out.SendTimeout)
	c.seconds("upstream-keepalive-timeout", &c.out.IdleTimeout)
	buffering, version := "on", "1.1"
	c.word("proxy-request-buffering", &buffering, "on", "off")
	c.word("proxy-http-version", &version, "1.0", "1.1")
	out.RequestBuffering = buffering == "on"
	if version == "1.0" {
		c.set("proxy-http-version", Unsupported, "endpoints are spoken to by HTTP/1.1")
	}

	next := &out.NextUpstream
	c.flag("retry-non-idempotent", &next.NonIdempotent)
	if text, given := c.text("proxy-next-upstream"); given {
		if nextUpstreamList(text) {
			next.Conditions, next.NonIdempotent = conditions(text, next.NonIdempotent)
		} else {
			c.useless("proxy-next-upstream", text)
		}
	}
	c.seconds("proxy-next-upstream-timeout", &next.Timeout)
	c.number("proxy-next-upstream-tries", &next.Tries)
	for key, into := range map[string]*string{
		"proxy-redirect-from": &out.RedirectFrom, "proxy-redirect-to": &out.RedirectTo,
	} {
		if text, _ := c.text(key); text != "off" && urlChars.holds(text) {
			*into = text
		} else if text != "off" {
			c.useless(key, text)
		}
	}
	for key, into := range map[string]**Replacement{
		"proxy-cookie-domain": &out.CookieDomain, "proxy-cookie-path": &out.CookiePath,
	} {
		text, given := c.text(key)
		if *into = pair(text); given && *into == nil && text != "off" {
			c.useless(key, text)
		}
	}
	c.flag("service-upstream", &c.out.ServiceUpstream)
	algorithm := ""
	c.word("load-balance", &algorithm, "round_robin", "ewma")
	c.out.EWMA = algorithm == "ewma"
	c.flag("proxy-ssl-location-only", &c.out.ProxyTLSLocationOnly)
	c.flag("disable-proxy-intercept-errors", &c.out.DisableProxyInterceptErrors)
	c.errors()
}

// errors reads the statuses that the default backend answers, of which those that are none are left out.
func (c *configReading) errors() {
	text, _ := c.text("custom-http-errors")
	for _, item := range list(text) {
		const first, last = 300, 599
		status, err := strconv.Atoi(item)
		if err != nil || status < first || status > last {
			c.set("custom-http-errors", Different, quote(item)+" is left out, as in ingress-nginx: no status from 300 to 599")
			continue
		}
		c.out.CustomHTTPErrors = append(c.out.CustomHTTPErrors, status)
	}
	slices.Sort(c.out.CustomHTTPErrors)
	c.out.CustomHTTPErrors = slices.Compact(c.out.CustomHTTPErrors)
}

func (c *configReading) limits() {
	out := c.out
	c.number("limit-rate", &out.LimitRate)
	c.number("limit-rate-after", &out.LimitRateAfter)
	for key, into := range map[string]*int{
		"limit-req-status-code": &out.RateStatus, "limit-conn-status-code": &out.ConnectionStatus,
	} {
		const first, last = 400, 599
		status := *into
		if c.number(key, &status); status < first || status > last {
			c.useless(key, strconv.Itoa(status))
			continue
		}
		*into = status
	}
	c.networks("whitelist-source-range", &out.Allow)
	c.networks("denylist-source-range", &out.Deny)
	c.networks("block-cidrs", &out.BlockCIDRs)
	c.list("block-user-agents", &out.BlockUserAgents)
	c.list("block-referers", &out.BlockReferers)
}

// globalAuth reads the external authentication of all locations. One that cannot be read closes them, while
// ingress-nginx goes on without it.
func (c *configReading) globalAuth() {
	text, given := c.text("global-auth-url")
	if !given || text == "" {
		return
	}
	address, err := serviceURL(text)
	if err != nil {
		c.close("global-auth-url", quote(text)+" is no URL: "+err.Error()+"; ingress-nginx goes on without it")
		return
	}
	out := &AuthRequest{URL: text, Host: address.Hostname(), SigninParam: "rd"}
	c.out.GlobalAuth = out
	c.word("global-auth-method", &out.Method, "", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "OPTIONS",
		"TRACE")
	if signin, given := c.text("global-auth-signin"); given {
		if _, err := serviceURL(signin); err == nil {
			out.Signin = signin
		} else {
			c.useless("global-auth-signin", signin)
		}
	}
	if param, _ := c.text("global-auth-signin-redirect-param"); param != "" {
		if _, err := url.Parse(out.Signin + "?" + param + "=x"); err == nil && urlChars.holds(param) {
			out.SigninParam = param
		} else {
			c.useless("global-auth-signin-redirect-param", param)
		}
	}
	headers, _ := c.text("global-auth-response-headers")
	for _, name := range list(headers) {
		if !header(name) {
			c.useless("global-auth-response-headers", name)
			continue
		}
		out.ResponseHeaders = append(out.ResponseHeaders, name)
	}
	out.RequestRedirect, _ = c.text("global-auth-request-redirect")
	out.CacheKey, _ = c.text("global-auth-cache-key")
	durations, _ := c.text("global-auth-cache-duration")
	found, verdict := cacheDurations(durations)
	if verdict != Honoured {
		c.useless("global-auth-cache-duration", durations)
		found, _ = cacheDurations("")
	}
	out.CacheDurations = found
	c.flag("global-auth-always-set-cookie", &out.AlwaysSetCookie)
	if snippet, _ := c.text("global-auth-snippet"); snippet != "" {
		out.Snippet = true
		c.close("global-auth-snippet", "directives of nginx are not executed")
	}
}

// realIP reads how clients are found behind proxies.
func (c *configReading) realIP() {
	out := &c.out.RealIP
	enabled := false
	c.flag("use-forwarded-headers", &out.Headers)
	c.flag("use-proxy-protocol", &out.ProxyProtocol)
	c.flag("enable-real-ip", &enabled)
	c.flag("compute-full-forwarded-for", &out.FullForwardedFor)
	out.FullForwardedFor = out.FullForwardedFor && out.Headers
	out.Forwarded = out.Headers || enabled && !out.ProxyProtocol
	if text, given := c.data["proxy-real-ip-cidr"]; given {
		var ok bool
		if out.Trusted, ok = networks(text); !ok || len(text) > MostValue {
			out.Trusted = nil
			out.Unsupported = "proxy-real-ip-cidr " + quote(text) + " is no list of addresses and networks"
		}
	}
	const usual = "X-Forwarded-For"
	if header, given := c.text("forwarded-for-header"); given && header != "" && !strings.EqualFold(header, usual) {
		out.Unsupported = "forwarded-for-header is " + quote(header) + ", and Sluice reads X-Forwarded-For alone"
	}
	for _, key := range []string{"http-snippet", "server-snippet", "location-snippet"} {
		text, _ := c.text(key)
		name := snippet.ClientAddress(text)
		if name == "" {
			continue
		}
		reason := "directives of nginx are not executed: the address of the client is not found as " + quote(name) + " says"
		c.set(key, Unsupported, reason+", and locations with lists of addresses answer 503")
		// The address of the connection may be that of a proxy.
		out.Forwarded, out.Unsupported = true, key+": "+reason
	}
}

func (c *configReading) security() {
	out := c.out
	c.flag("allow-cross-namespace-resources", &out.AllowCrossNamespace)
	c.flag("enable-modsecurity", &out.Firewall)
	if out.Firewall {
		c.set("enable-modsecurity", Unsupported, "Sluice has no web application firewall")
	}
	if text, given := c.text("annotations-risk-level"); given {
		out.Risk = map[string]Risk{"medium": Medium, "high": High, "critical": Critical}[strings.ToLower(text)]
	}
	c.list("annotation-value-word-blocklist", &out.Blocklist)
	names, _ := c.text("global-allowed-response-headers")
	for _, name := range list(names) {
		if !header(name) {
			c.set("global-allowed-response-headers", Different, quote(name)+" is left out, as in ingress-nginx: no header")
			continue
		}
		out.AllowedResponseHeaders = append(out.AllowedResponseHeaders, name)
	}
}

func (c *configReading) headers() {
	out := c.out
	c.reference("proxy-set-headers", &out.ProxySetHeaders)
	c.reference("add-headers", &out.AddHeaders)
	c.list("hide-headers", &out.HideHeaders)
	c.flag("allow-backend-server-header", &out.AllowBackendServerHeader)
	c.flag("proxy-add-original-uri-header", &out.AddOriginalURI)
	c.flag("generate-request-id", &out.GenerateRequest)
}

// compression reads the keys of one coding.
func (c *configReading) compression(name string, into *Compression) {
	if name == "gzip" {
		c.flag("use-gzip", &into.Enabled)
	} else {
		c.flag("enable-"+name, &into.Enabled)
	}
	c.number(name+"-min-length", &into.MinLength)
	if text, given := c.text(name + "-types"); given {
		into.Types = strings.Fields(text)
	}
}

func (c *configReading) tls() {
	if text, given := c.text("ssl-protocols"); given {
		versions := []string{"TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"}
		found := slices.DeleteFunc(strings.Fields(text), func(one string) bool { return !slices.Contains(versions, one) })
		if len(found) == 0 {
			c.useless("ssl-protocols", text)
		} else {
			c.out.SSLProtocols = found
		}
	}
	if text, given := c.text("ssl-ciphers"); given && suiteChars.holds(text) {
		c.out.SSLCiphers = text
	} else if given {
		c.useless("ssl-ciphers", text)
	}
}
