package annotation

// accessSpecs are the annotations about addresses and passwords.
func accessSpecs() []Spec {
	return []Spec{
		{
			Name: "allowlist-source-range", Aliases: []string{"whitelist-source-range"}, Group: "access", Scope: Location,
			Risk: Medium, Protects: true, Means: "403 for every address that is not in the list",
		},
		{
			Name: "auth-realm", Group: "access", Scope: Location, Risk: Medium, Support: Differs,
			Means: "the realm of auth-type",
			Note:  "the value off switches authentication off in nginx; here it is the realm",
		},
		{
			Name: "auth-secret", Group: "access", Scope: Location, Risk: Medium, Protects: true,
			Means: "the Secret with the users of auth-type; 503 when it cannot be read, and when it has no users or an unknown " +
				"hash",
		},
		{
			Name: "auth-secret-type", Group: "access", Scope: Location, Risk: Low, Protects: true,
			Means: "auth-file: lines of htpasswd below the key auth; auth-map: a key for each user",
		},
		{
			Name: "auth-type", Group: "access", Scope: Location, Risk: Low, Protects: true,
			Means: "basic or digest authentication",
		},
		{
			Name: "denylist-source-range", Group: "access", Scope: Location, Risk: Medium, Protects: true,
			Means: "403 for every address in the list",
		},
		{
			Name: "enable-modsecurity", Group: "access", Scope: Location, Risk: Low, Support: Refused, Protects: true,
			Means:       "a web application firewall",
			Note:        "Sluice has none. A value that is no switch counts as true; in nginx it counts as false",
			Replacement: "a firewall as a server of externalAuth, or modSecurity: ignore of the provider, which accepts the loss",
		},
		{
			Name: "enable-owasp-core-rules", Group: "access", Scope: Location, Risk: Low, Support: Refused, Protects: true,
			Means: "the OWASP rules of the firewall", Note: "as enable-modsecurity", Replacement: "as enable-modsecurity",
		},
		{
			Name: "modsecurity-snippet", Group: "access", Scope: Location, Risk: Critical, Support: Refused, Protects: true,
			Means: "rules of the firewall", Note: "as enable-modsecurity", Replacement: "as enable-modsecurity",
		},
		{
			Name: "modsecurity-transaction-id", Group: "access", Scope: Location, Risk: High, Support: Refused,
			Means: "the identifier of a request in the firewall's log", Note: "as enable-modsecurity",
		},
		{
			Name: "satisfy", Group: "access", Scope: Location, Risk: Low,
			Means: "any: one of address list and authentication is enough",
		},
	}
}

// authRequestSpecs are the annotations about the subrequest to an authentication service.
func authRequestSpecs() []Spec {
	const pooled = "connections to the service are kept in any case; in nginx it has no effect with HTTP/2, which is the default"
	return []Spec{
		{
			Name: "auth-always-set-cookie", Group: "external authentication", Scope: Location, Risk: Low,
			Means: "Set-Cookie of the service reaches the client with every status",
		},
		{
			Name: "auth-cache-duration", Group: "external authentication", Scope: Location, Risk: Medium, Support: Differs,
			Means: "how long an answer of the service is used again, by status",
			Note:  "a value with a wrong character opens the location in nginx; here it answers 503",
		},
		{
			Name: "auth-cache-key", Group: "external authentication", Scope: Location, Risk: Medium, Support: Differs,
			Means: "the key by which answers of the service are used again",
			Note:  "n replicas have n caches, as n controllers of nginx have",
		},
		{
			Name: "auth-keepalive", Group: "external authentication", Scope: Location, Risk: Low, Support: NoEffect,
			Means: "idle connections to the service", Note: pooled,
		},
		{
			Name: "auth-keepalive-requests", Group: "external authentication", Scope: Location, Risk: Low, Support: NoEffect,
			Means: "requests over one connection to the service", Note: pooled,
		},
		{
			Name: "auth-keepalive-share-vars", Group: "external authentication", Scope: Location, Risk: Low,
			Support: NoEffect, Means: "variables are shared with the subrequest", Note: pooled,
		},
		{
			Name: "auth-keepalive-timeout", Group: "external authentication", Scope: Location, Risk: Low, Support: NoEffect,
			Means: "how long a connection to the service may be idle", Note: pooled,
		},
		{
			Name: "auth-method", Group: "external authentication", Scope: Location, Risk: Low, Protects: true,
			Means: "the method of the subrequest, GET by default",
		},
		{
			Name: "auth-proxy-set-headers", Group: "external authentication", Scope: Location, Risk: Medium,
			Support: Differs, Protects: true,
			Means: "the ConfigMap with more headers of the subrequest; 503 when it cannot be read",
			Note:  "a value with a wrong character is ignored in nginx; here the location answers 503",
		},
		{
			Name: "auth-request-redirect", Group: "external authentication", Scope: Location, Risk: Medium, Support: Differs,
			Means: "the header X-Auth-Request-Redirect of the subrequest",
			Note:  "a value with a wrong character opens the location in nginx; here it answers 503",
		},
		{
			Name: "auth-response-headers", Group: "external authentication", Scope: Location, Risk: Medium, Protects: true,
			Means: "headers of the service's answer that the request takes along",
		},
		{
			Name: "auth-signin", Group: "external authentication", Scope: Location, Risk: High,
			Means: "302 to this URL in place of 401, also in place of that of auth-type",
		},
		{
			Name: "auth-signin-redirect-param", Group: "external authentication", Scope: Location, Risk: Medium,
			Means: "the parameter of that URL with the URL of the request, rd by default",
		},
		{
			Name: "auth-snippet", Group: "external authentication", Scope: Location, Risk: Critical, Support: Refused,
			Protects: true, Means: "directives of nginx for the subrequest", Note: "directives of nginx are not executed",
			Replacement: "the middleware authRequest or forwardAuth with the options that the snippet sets",
		},
		{
			Name: "auth-url", Group: "external authentication", Scope: Location, Risk: High, Protects: true,
			Means: "the service that decides: 2xx lets the request pass, 401 and 403 are answered, else 500; 503 with variables " +
				"of a request in front of the path. Behind a proxy the subrequest has the proxy's address",
		},
		{
			Name: "enable-global-auth", Group: "external authentication", Scope: Location, Risk: Low, Protects: true,
			Means: "false exempts from global-auth-url of the ConfigMap",
		},
	}
}

// clientTLSSpecs are the annotations about certificates of clients.
func clientTLSSpecs() []Spec {
	const open = "they protect https alone, as in nginx: plain http stays open where it is not redirected and " +
		"auth-tls-match-cn is not set"
	return []Spec{
		{
			Name: "auth-tls-error-page", Group: "client certificates", Scope: Host, Risk: High, Support: Differs,
			Means: "302 to this page in place of 400",
			Note:  "a path or a named location has no effect: 400 is answered",
		},
		{
			Name: "auth-tls-match-cn", Group: "client certificates", Scope: Host, Risk: High, Support: Differs,
			Protects: true, Means: "403 unless the subject of the certificate matches",
			Note: "the same expressions are refused as with rewrite-target",
		},
		{
			Name: "auth-tls-pass-certificate-to-upstream", Group: "client certificates", Scope: Host, Risk: Low,
			Means: "the certificate is sent in the header ssl-client-cert",
		},
		{
			Name: "auth-tls-secret", Group: "client certificates", Scope: Host, Risk: Medium, Support: Differs,
			Protects: true, Means: "400 for clients without a certificate of these authorities",
			Note: open + ". A Secret that cannot be read makes the host answer 503, where nginx answers 403, and so does one " +
				"without ca.crt, with which nginx verifies nothing. Connections to an alias that is an expression, or ends in a " +
				"wildcard, have no certificate",
		},
		{
			Name: "auth-tls-verify-client", Group: "client certificates", Scope: Host, Risk: Medium, Protects: true,
			Means: "on, off, optional or optional_no_ca",
		},
		{
			Name: "auth-tls-verify-depth", Group: "client certificates", Scope: Host, Risk: Low, Protects: true,
			Means: "the longest chain, 1 by default",
		},
	}
}
