package annotation

// tlsSpecs are the annotations about connections of clients.
func tlsSpecs() []Spec {
	return []Spec{
		{
			Name: "http2-push-preload", Group: "connections", Scope: Location, Risk: Low, Support: NoEffect,
			Means: "links become pushes of HTTP/2", Note: "nginx 1.25.1 and later ignore it",
		},
		{
			Name: "ssl-ciphers", Group: "connections", Scope: Host, Risk: Low, Support: Differs,
			Means: "cipher suites in OpenSSL's notation", Note: "suites that Go does not have are left out, with a warning",
		},
		{
			Name: "ssl-passthrough", Group: "connections", Scope: Host, Risk: Low,
			Means: "TLS ends at the endpoints; it needs the provider's option enableSSLPassthrough, and " +
				"no wildcard host or alias that covers the host",
		},
		{
			Name: "ssl-prefer-server-ciphers", Group: "connections", Scope: Host, Risk: Low, Support: NoEffect,
			Means: "the server's order of cipher suites decides", Note: "Go orders cipher suites by itself",
		},
	}
}

// logSpecs are the annotations about logs and traces.
func logSpecs() []Spec {
	return []Spec{
		{
			Name: "enable-access-log", Group: "logs and traces", Scope: Location, Risk: Low,
			Means: "false: requests are not in the access log",
		},
		{
			Name: "enable-opentelemetry", Group: "logs and traces", Scope: Location, Risk: Low,
			Means: "whether requests are traced",
		},
		{
			Name: "enable-rewrite-log", Group: "logs and traces", Scope: Location, Risk: Low, Support: NoEffect,
			Means: "the steps of a rewrite are in nginx's error log", Note: "there is no such log",
			Replacement: "sluice explain",
		},
		{
			Name: "opentelemetry-operation-name", Group: "logs and traces", Scope: Location, Risk: Medium,
			Support: Refused, Means: "the name of the span", Note: "spans are named after the router",
			Replacement: "the attributes of the span",
		},
		{
			Name: "opentelemetry-trust-incoming-span", Group: "logs and traces", Scope: Location, Risk: Low,
			Support: Refused, Means: "whether a trace of the client is continued", Note: "it is one setting for all routers",
			Replacement: "tracing of the static configuration",
		},
	}
}

// snippetSpecs are the annotations with directives of nginx.
func snippetSpecs() []Spec {
	const text = "directives of nginx are not executed. A snippet that denies, authenticates, limits or returns an error " +
		"makes the locations answer 503, and so do conditions that decide more than headers, logs and variables, and " +
		"directives that are not understood"
	const rewrite = ". One rewrite with a flag, without another directive about the path, is done as by rewrite-target: " +
		"with 302 for permanent too, and with last where the host has no other location"
	const host = ". They are those of the whole host, but above annotations-risk-level those of the Ingress alone, which " +
		"ingress-nginx does not accept then"
	const objects = "Middleware objects, which sluice migrate proposes for common directives"
	return []Spec{
		{
			Name: "configuration-snippet", Group: "snippets", Scope: Location, Risk: Critical, Support: Refused,
			Means: "directives of the location", Note: text + rewrite, Replacement: objects,
		},
		{
			Name: "server-snippet", Group: "snippets", Scope: Host, Risk: Critical, Support: Refused,
			Means: "directives of the server", Note: text + host, Replacement: objects,
		},
		{
			Name: "stream-snippet", Group: "snippets", Scope: Global, Risk: Critical, Support: Refused,
			Means: "directives of the stream block", Note: "directives of nginx are not executed",
			Replacement: "TCP and UDP routers",
		},
	}
}
