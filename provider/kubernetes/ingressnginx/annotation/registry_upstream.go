package annotation

// backendSpecs are the annotations about the way to endpoints.
func backendSpecs() []Spec {
	const fastcgi = "FastCGI is not spoken"
	return []Spec{
		{
			Name: "backend-protocol", Group: "backend", Scope: Location, Risk: Low, Support: Differs,
			Means: "HTTP, HTTPS, AUTO_HTTP (that of the client), GRPC or GRPCS",
			Note:  "FCGI is refused: FastCGI is not spoken, and the locations answer 503",
		},
		{
			Name: "connection-proxy-header", Group: "backend", Scope: Location, Risk: Low, Support: NoEffect,
			Means: "the header Connection of requests to endpoints", Note: "connections to endpoints are kept and shared",
		},
		{
			Name: "custom-headers", Group: "backend", Scope: Location, Risk: Medium, Support: Differs,
			Means: "the ConfigMap with headers of responses, each of which global-allowed-response-headers must list",
			Note:  "the ConfigMap must be in the Ingress's namespace, unless allow-cross-namespace-resources is set",
		},
		{
			Name: "default-backend", Group: "backend", Scope: Location, Risk: Low,
			Means: "the Service that answers when there is no endpoint, and for custom-http-errors",
		},
		{
			Name: "fastcgi-index", Group: "backend", Scope: Location, Risk: Medium, Support: Refused,
			Means: "the index file of FastCGI", Note: fastcgi, Replacement: "a web server beside the application",
		},
		{
			Name: "fastcgi-params-configmap", Group: "backend", Scope: Location, Risk: Medium, Support: Refused,
			Means: "the ConfigMap with parameters of FastCGI", Note: fastcgi,
			Replacement: "a web server beside the application",
		},
		{
			Name: "load-balance", Group: "backend", Scope: Service, Risk: Low,
			Means: "round_robin or ewma",
		},
		{
			Name: "service-upstream", Group: "backend", Scope: Service, Risk: Low,
			Means: "requests go to the address of the Service in place of its endpoints",
		},
		{
			Name: "upstream-hash-by", Group: "backend", Scope: Service, Risk: High, Support: Differs,
			Means: "an expression of variables by which requests are placed",
			Note:  "keys are placed by another hash: each is at another endpoint than in nginx, once, at the change",
		},
		{
			Name: "upstream-hash-by-subset", Group: "backend", Scope: Service, Risk: Low,
			Means: "a key leads to some endpoints in place of one",
		},
		{
			Name: "upstream-hash-by-subset-size", Group: "backend", Scope: Service, Risk: Low,
			Means: "their number, 3 by default",
		},
		{
			Name: "upstream-vhost", Group: "backend", Scope: Location, Risk: Low,
			Means: "the header Host of requests to endpoints",
		},
		{
			Name: "x-forwarded-prefix", Group: "backend", Scope: Location, Risk: Medium, Support: Differs,
			Means: "the header X-Forwarded-Prefix, only together with rewrite-target",
			Note:  "groups of the path ($1, ...) have no value in it; the header is then left out",
		},
	}
}

// proxySpecs are the annotations about bodies, times and retries.
func proxySpecs() []Spec {
	const streamed = "responses are streamed, without buffers that need a size"
	const idle = "one time without progress in either direction: the longer one of proxy-read-timeout and proxy-send-timeout"
	return []Spec{
		{
			Name: "client-body-buffer-size", Group: "proxy", Scope: Location, Risk: Low,
			Means: "how much of a request's body is kept in memory while it is buffered; by default 1 MiB here, and 8 KiB in ingress-nginx",
		},
		{
			Name: "proxy-body-size", Group: "proxy", Scope: Location, Risk: Medium, Protects: true,
			Means: "413 for longer bodies, 1m by default, 0 for no limit",
		},
		{
			Name: "proxy-buffer-size", Group: "proxy", Scope: Location, Risk: Low, Support: NoEffect,
			Means: "the buffer of a response's header", Note: streamed,
		},
		{
			Name: "proxy-buffering", Group: "proxy", Scope: Location, Risk: Low, Support: NoEffect,
			Means: "responses are buffered", Note: streamed,
		},
		{
			Name: "proxy-buffers-number", Group: "proxy", Scope: Location, Risk: Low, Support: NoEffect,
			Means: "buffers of a response", Note: streamed,
		},
		{
			Name: "proxy-busy-buffers-size", Group: "proxy", Scope: Location, Risk: Low, Support: NoEffect,
			Means: "buffers that are sent while others are filled", Note: streamed,
		},
		{
			Name: "proxy-connect-timeout", Group: "proxy", Scope: Location, Risk: Low,
			Means: "seconds for a connection, 5 by default",
		},
		{
			Name: "proxy-cookie-domain", Group: "proxy", Scope: Location, Risk: Medium,
			Means: "replaces Domain of the endpoint's cookies",
		},
		{
			Name: "proxy-cookie-path", Group: "proxy", Scope: Location, Risk: Medium,
			Means: "replaces Path of the endpoint's cookies",
		},
		{
			Name: "proxy-http-version", Group: "proxy", Scope: Location, Risk: Low, Support: Differs,
			Means: "1.1 or 1.0 towards endpoints", Note: "HTTP/1.1 is spoken with 1.0 too",
		},
		{
			Name: "proxy-max-temp-file-size", Group: "proxy", Scope: Location, Risk: Low, Support: NoEffect,
			Means: "how much of a response is kept in a file", Note: streamed,
		},
		{
			Name: "proxy-next-upstream", Group: "proxy", Scope: Location, Risk: Medium,
			Means: "after what a request is sent to another endpoint",
		},
		{
			Name: "proxy-next-upstream-timeout", Group: "proxy", Scope: Location, Risk: Low,
			Means: "seconds in which this may begin, 0 for no limit",
		},
		{
			Name: "proxy-next-upstream-tries", Group: "proxy", Scope: Location, Risk: Low,
			Means: "attempts with the first one, 3 by default, 0 for no limit",
		},
		{
			Name: "proxy-read-timeout", Group: "proxy", Scope: Location, Risk: Low, Support: Differs,
			Means: "seconds between two reads from the endpoint, 60 by default", Note: idle,
		},
		{
			Name: "proxy-redirect-from", Group: "proxy", Scope: Location, Risk: Medium,
			Means: "what is replaced in Location and Refresh",
		},
		{
			Name: "proxy-redirect-to", Group: "proxy", Scope: Location, Risk: Medium,
			Means: "what it becomes",
		},
		{
			Name: "proxy-request-buffering", Group: "proxy", Scope: Location, Risk: Low,
			Means: "a request's body is read before an endpoint gets it, on by default",
		},
		{
			Name: "proxy-send-timeout", Group: "proxy", Scope: Location, Risk: Low, Support: Differs,
			Means: "seconds between two writes to the endpoint, 60 by default", Note: idle,
		},
	}
}

// proxyTLSSpecs are the annotations about TLS towards endpoints.
func proxyTLSSpecs() []Spec {
	return []Spec{
		{
			Name: "proxy-ssl-ciphers", Group: "TLS to endpoints", Scope: Host, Risk: Medium, Support: Differs,
			Means: "cipher suites in OpenSSL's notation", Note: "suites that Go does not have are left out, with a warning",
		},
		{
			Name: "proxy-ssl-name", Group: "TLS to endpoints", Scope: Host, Risk: High, Protects: true,
			Means: "the name in the endpoint's certificate",
		},
		{
			Name: "proxy-ssl-protocols", Group: "TLS to endpoints", Scope: Host, Risk: Low,
			Means: "versions of TLS, TLSv1.2 by default",
		},
		{
			Name: "proxy-ssl-secret", Group: "TLS to endpoints", Scope: Host, Risk: Medium, Protects: true,
			Means: "the Secret with the certificate and the authorities; the others have no effect without it",
		},
		{
			Name: "proxy-ssl-server-name", Group: "TLS to endpoints", Scope: Host, Risk: Low,
			Means: "on: the name is sent as SNI",
		},
		{
			Name: "proxy-ssl-verify", Group: "TLS to endpoints", Scope: Host, Risk: Low, Support: Differs, Protects: true,
			Means: "on: the endpoint's certificate is verified",
			Note:  "a value other than on and off counts as off in nginx; here the locations answer 503",
		},
		{
			Name: "proxy-ssl-verify-depth", Group: "TLS to endpoints", Scope: Host, Risk: Low, Protects: true,
			Means: "the longest chain, 1 by default",
		},
	}
}

// errorSpecs are the annotations about error pages.
func errorSpecs() []Spec {
	return []Spec{
		{
			Name: "custom-http-errors", Group: "errors", Scope: Location, Risk: Low, Support: Differs,
			Means: "the default backend answers in place of these statuses",
			Note: "it gets no body of more than 1 MiB, nor one of unknown length of which the end has not been read, as in " +
				"errors of Sluice itself",
		},
		{
			Name: "disable-proxy-intercept-errors", Group: "errors", Scope: Location, Risk: Low,
			Means: "true: not in place of those that endpoints answer",
		},
	}
}

// mirrorSpecs are the annotations about copies of requests.
func mirrorSpecs() []Spec {
	return []Spec{
		{
			Name: "mirror-host", Group: "mirror", Scope: Location, Risk: High,
			Means: "the header Host of copies, that of the target by default",
		},
		{
			Name: "mirror-request-body", Group: "mirror", Scope: Location, Risk: Low,
			Means: "off: copies have no body",
		},
		{
			Name: "mirror-target", Group: "mirror", Scope: Location, Risk: High, Support: Differs,
			Means: "the URL that gets a copy of each request",
			Note:  "a slow target does not hold up the client's next request, which it does in nginx",
		},
	}
}
