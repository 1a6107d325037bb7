package annotation

// limitSpecs are the annotations about rates and connections.
func limitSpecs() []Spec {
	const replicas = "each replica counts by itself, as each controller of nginx does: n replicas allow n times the limit"
	return []Spec{
		{
			Name: "limit-allowlist", Aliases: []string{"limit-whitelist"}, Group: "limits", Scope: Location, Risk: Low,
			Means: "addresses without a limit",
		},
		{
			Name: "limit-burst-multiplier", Group: "limits", Scope: Location, Risk: Low,
			Means: "requests beyond the rate that are let through at once: the limit times this, 5 by default",
		},
		{
			Name: "limit-connections", Group: "limits", Scope: Location, Risk: Low, Support: Differs, Protects: true,
			Means: "requests in flight of one address; 503 beyond", Note: replicas,
		},
		{
			Name: "limit-rate", Group: "limits", Scope: Location, Risk: Low,
			Means: "KiB per second of a response",
		},
		{
			Name: "limit-rate-after", Group: "limits", Scope: Location, Risk: Low,
			Means: "KiB of a response before limit-rate begins",
		},
		{
			Name: "limit-rpm", Group: "limits", Scope: Location, Risk: Low, Support: Differs, Protects: true,
			Means: "requests per minute of one address; 503 beyond",
			Note:  "a token bucket of limit × multiplier + 1, which lets through what nginx's leaky bucket does; " + replicas,
		},
		{
			Name: "limit-rps", Group: "limits", Scope: Location, Risk: Low, Support: Differs, Protects: true,
			Means: "requests per second of one address; 503 beyond",
			Note:  "a token bucket of limit × multiplier + 1, which lets through what nginx's leaky bucket does; " + replicas,
		},
	}
}

// corsSpecs are the annotations about cross-origin requests.
func corsSpecs() []Spec {
	return []Spec{
		{
			Name: "cors-allow-credentials", Group: "CORS", Scope: Location, Risk: Low,
			Means: "Access-Control-Allow-Credentials, true by default",
		},
		{
			Name: "cors-allow-headers", Group: "CORS", Scope: Location, Risk: Medium,
			Means: "Access-Control-Allow-Headers",
		},
		{
			Name: "cors-allow-methods", Group: "CORS", Scope: Location, Risk: Medium,
			Means: "Access-Control-Allow-Methods",
		},
		{
			Name: "cors-allow-origin", Group: "CORS", Scope: Location, Risk: Medium, Support: Differs,
			Means: "the origins that are allowed, all by default; * stands for one label of a host",
			Note:  "a list without a valid origin allows every origin in nginx; here none",
		},
		{
			Name: "cors-expose-headers", Group: "CORS", Scope: Location, Risk: Medium,
			Means: "Access-Control-Expose-Headers",
		},
		{
			Name: "cors-max-age", Group: "CORS", Scope: Location, Risk: Low, Support: Differs,
			Means: "Access-Control-Max-Age in seconds, 1728000 by default", Note: "a negative value is sent as 0",
		},
		{
			Name: "enable-cors", Group: "CORS", Scope: Location, Risk: Low,
			Means: "preflight requests are answered 204, others get the headers of CORS",
		},
	}
}

// canarySpecs are the annotations about a share of the requests.
func canarySpecs() []Spec {
	return []Spec{
		{
			Name: "canary", Group: "canary", Scope: Service, Risk: Low,
			Means: "the Ingress's Service gets a share of the requests of the same host, path and type of another Ingress",
		},
		{
			Name: "canary-by-cookie", Group: "canary", Scope: Service, Risk: Medium,
			Means: "a cookie that says always or never",
		},
		{
			Name: "canary-by-header", Group: "canary", Scope: Service, Risk: Medium,
			Means: "a header that says always or never",
		},
		{
			Name: "canary-by-header-pattern", Group: "canary", Scope: Service, Risk: Medium, Support: Differs,
			Means: "an expression that the header matches",
			Note:  "the same expressions are refused as with rewrite-target; the rule then matches nothing",
		},
		{
			Name: "canary-by-header-value", Group: "canary", Scope: Service, Risk: Medium,
			Means: "the value that the header has",
		},
		{
			Name: "canary-weight", Group: "canary", Scope: Service, Risk: Low,
			Means: "the share of the other requests, of canary-weight-total",
		},
		{
			Name: "canary-weight-total", Group: "canary", Scope: Service, Risk: Low,
			Means: "the whole of which canary-weight is a part, at least 100",
		},
	}
}

// affinitySpecs are the annotations about sticky sessions.
func affinitySpecs() []Spec {
	return []Spec{
		{
			Name: "affinity", Group: "affinity", Scope: Service, Risk: Low, Support: Differs,
			Means: "cookie: requests of a client go to one endpoint",
			Note:  "cookies that nginx has set are not understood: sessions are placed anew once, at the change",
		},
		{
			Name: "affinity-canary-behavior", Group: "affinity", Scope: Service, Risk: Low,
			Means: "sticky: a client stays with the canary; legacy: each request is decided anew",
		},
		{
			Name: "affinity-mode", Group: "affinity", Scope: Service, Risk: Medium,
			Means: "balanced: some sessions move when endpoints come; persistent: none does",
		},
		{
			Name: "session-cookie-change-on-failure", Group: "affinity", Scope: Service, Risk: Low,
			Means: "a failure moves the session to another endpoint",
		},
		{
			Name: "session-cookie-conditional-samesite-none", Group: "affinity", Scope: Service, Risk: Low,
			Means: "SameSite=None is left out for browsers that misread it",
		},
		{
			Name: "session-cookie-domain", Group: "affinity", Scope: Service, Risk: Medium, Means: "Domain of the cookie",
		},
		{
			Name: "session-cookie-expires", Group: "affinity", Scope: Service, Risk: Medium, Support: Differs,
			Means: "Expires of the cookie, in seconds from now",
			Note:  "a value that is no number makes requests fail in nginx; here it is ignored",
		},
		{
			Name: "session-cookie-max-age", Group: "affinity", Scope: Service, Risk: Medium,
			Means: "Max-Age of the cookie in seconds",
		},
		{
			Name: "session-cookie-name", Group: "affinity", Scope: Service, Risk: Medium,
			Means: "the cookie's name, INGRESSCOOKIE by default",
		},
		{
			Name: "session-cookie-path", Group: "affinity", Scope: Service, Risk: Medium,
			Means: "Path of the cookie, that of the location by default",
		},
		{
			Name: "session-cookie-samesite", Group: "affinity", Scope: Service, Risk: Low, Means: "SameSite of the cookie",
		},
		{
			Name: "session-cookie-secure", Group: "affinity", Scope: Service, Risk: Low,
			Means: "true: Secure in any case; else Secure over https",
		},
	}
}
