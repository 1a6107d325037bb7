package annotation

// staticKeys are the keys of which the effect is an option of the static configuration.
func staticKeys() []ConfigKey {
	return []ConfigKey{
		{Name: "access-log-path", Default: "/var/log/nginx/access.log", Effect: Static, Note: "accessLog.filePath"},
		{Name: "bind-address", Effect: Static, Note: "address of the entrypoints"},
		{
			Name: "client-body-timeout", Default: "60",
			Effect: Static, Note: "transport.respondingTimeouts.readTimeout of the entrypoints",
		},
		{Name: "client-header-buffer-size", Default: "1k", Effect: Static, Note: "http.maxHeaderBytes of the entrypoints"},
		{
			Name: "client-header-timeout", Default: "60",
			Effect: Static, Note: "transport.respondingTimeouts.readTimeout of the entrypoints",
		},
		{Name: "compute-full-forwarded-for", Default: "false", Effect: Static, Note: "forwardedHeaders of the entrypoints"},
		{Name: "disable-ipv6", Default: "false", Effect: Static, Note: "address of the entrypoints"},
		{Name: "enable-ocsp", Default: "false", Effect: Static, Note: "ocsp"},
		{Name: "enable-real-ip", Default: "false", Effect: Static, Note: "forwardedHeaders.trustedIPs of the entrypoints"},
		{Name: "error-log-level", Default: "notice", Effect: Static, Note: "log.level"},
		{Name: "error-log-path", Default: "/var/log/nginx/error.log", Effect: Static, Note: "log.filePath"},
		{
			Name: "forwarded-for-header", Default: "X-Forwarded-For",
			Effect: Static, Note: "nothing: X-Forwarded-For is read",
		},
		{
			Name: "forwarded-for-proxy-protocol-header", Default: "X-Forwarded-For-Proxy-Protocol",
			Effect: Static, Note: "nothing: X-Forwarded-For is written",
		},
		{
			Name: "forwarded-host-header", Default: "X-Forwarded-Host",
			Effect: Static, Note: "nothing: X-Forwarded-Host is read",
		},
		{Name: "http-access-log-path", Effect: Static, Note: "accessLog.filePath"},
		{
			Name: "http2-max-concurrent-streams", Default: "128",
			Effect: Static, Note: "http2.maxConcurrentStreams of the entrypoints",
		},
		{
			Name: "keep-alive", Default: "75",
			Effect: Static, Note: "transport.respondingTimeouts.idleTimeout of the entrypoints",
		},
		{
			Name: "keep-alive-requests", Default: "1000",
			Effect: Static, Note: "transport.keepAliveMaxRequests of the entrypoints",
		},
		{
			Name: "large-client-header-buffers", Default: "4 8k",
			Effect: Static, Note: "http.maxHeaderBytes of the entrypoints",
		},
		{Name: "log-format-escape-json", Default: "false", Effect: Static, Note: "accessLog.format: json"},
		{Name: "log-format-escape-none", Default: "false", Effect: Static, Note: "accessLog.format"},
		{Name: "log-format-upstream", Effect: Static, Note: "accessLog.format"},
		{
			Name: "nginx-status-ipv4-whitelist", Default: "127.0.0.1",
			Effect: Static, Note: "ipAllowList on the router of the API",
		},
		{Name: "nginx-status-ipv6-whitelist", Default: "::1", Effect: Static, Note: "ipAllowList on the router of the API"},
		{
			Name: "opentelemetry-config", Default: "/etc/ingress-controller/telemetry/opentelemetry.toml",
			Effect: Static, Note: "tracing",
		},
		{Name: "opentelemetry-operation-name", Effect: Static, Note: "tracing"},
		{Name: "opentelemetry-trust-incoming-span", Default: "true", Effect: Static, Note: "tracing"},
		{Name: "otel-sampler", Default: "AlwaysOn", Effect: Static, Note: "tracing.sampleRate"},
		{Name: "otel-sampler-parent-based", Default: "true", Effect: Static, Note: "tracing.sampleRate"},
		{Name: "otel-sampler-ratio", Default: "0.01", Effect: Static, Note: "tracing.sampleRate"},
		{Name: "otel-service-name", Default: "nginx", Effect: Static, Note: "tracing.serviceName"},
		{Name: "otlp-collector-host", Effect: Static, Note: "tracing.otlp"},
		{Name: "otlp-collector-port", Default: "4317", Effect: Static, Note: "tracing.otlp"},
		{
			Name: "proxy-protocol-header-timeout", Default: "5s",
			Effect: Static, Note: "transport.respondingTimeouts of the entrypoints",
		},
		{
			Name: "proxy-real-ip-cidr", Default: "0.0.0.0/0",
			Effect: Static, Note: "forwardedHeaders.trustedIPs of the entrypoints",
		},
		{Name: "reuse-port", Default: "true", Effect: Static, Note: "reusePort of the entrypoints"},
		{Name: "skip-access-log-urls", Effect: Static, Note: "accessLog.filters"},
		{Name: "ssl-ecdh-curve", Default: "auto", Effect: Static, Note: "curvePreferences of tls.options"},
		{Name: "ssl-session-ticket-key", Effect: Static, Note: "tls.options"},
		{Name: "ssl-session-tickets", Default: "false", Effect: Static, Note: "tls.options"},
		{
			Name: "upstream-keepalive-connections", Default: "320",
			Effect: Static, Note: "serversTransport.maxIdleConnsPerHost",
		},
		{
			Name: "upstream-keepalive-requests", Default: "10000",
			Effect: Static, Note: "nothing: a connection is not limited in requests",
		},
		{
			Name: "upstream-keepalive-time", Default: "1h",
			Effect: Static, Note: "nothing: a connection is not limited in time",
		},
		{
			Name: "upstream-keepalive-timeout", Default: "60",
			Effect: Static, Note: "serversTransport.forwardingTimeouts.idleConnTimeout",
		},
		{
			Name: "use-forwarded-headers", Default: "false",
			Effect: Static, Note: "forwardedHeaders.trustedIPs of the entrypoints",
		},
		{Name: "use-http2", Default: "true", Effect: Static, Note: "http2 of the entrypoints"},
		{Name: "use-proxy-protocol", Default: "false", Effect: Static, Note: "proxyProtocol.trustedIPs of the entrypoints"},
		{
			Name: "worker-shutdown-timeout", Default: "240s",
			Effect: Static, Note: "transport.lifeCycle.graceTimeOut of the entrypoints",
		},
	}
}

// unsupportedKeys are the keys of which the effect is missing.
func unsupportedKeys() []ConfigKey {
	const firewall = "Sluice has no web application firewall"
	return []ConfigKey{
		{
			Name: "default-type", Default: "text/html",
			Effect: Missing, Note: "a response without Content-Type stays without",
		},
		{Name: "disable-stream-access-log", Default: "false", Effect: Missing, Note: "the access log has requests alone"},
		{Name: "enable-owasp-modsecurity-crs", Default: "false", Effect: Missing, Note: firewall},
		{Name: "enable-syslog", Default: "false", Effect: Missing, Note: "logs are not sent to syslog"},
		{Name: "enable-underscores-in-headers", Default: "false", Effect: Missing, Note: "such headers are passed on"},
		{Name: "geoip2-autoreload-in-minutes", Default: "0", Effect: Missing, Note: "Sluice has no GeoIP database"},
		{Name: "gzip-disable", Effect: Missing, Note: "compression does not depend on the browser"},
		{Name: "http-snippet", Effect: Missing, Note: "directives of nginx are not executed"},
		{
			Name: "ignore-invalid-headers", Default: "true",
			Effect: Missing, Note: "requests with invalid headers are refused by 400",
		},
		{
			Name: "limit-conn-zone-variable", Default: "$binary remote addr",
			Effect: Missing, Note: "connections are counted by the address of the client",
		},
		{Name: "location-snippet", Effect: Missing, Note: "directives of nginx are not executed"},
		{Name: "log-format-stream", Effect: Missing, Note: "the access log has requests alone"},
		{Name: "main-snippet", Effect: Missing, Note: "directives of nginx are not executed"},
		{Name: "modsecurity-snippet", Effect: Missing, Note: firewall},
		{
			Name: "proxy-stream-next-upstream", Default: "true",
			Effect: Missing, Note: "TCP and UDP routers have options of their own",
		},
		{
			Name: "proxy-stream-next-upstream-timeout", Default: "600s",
			Effect: Missing, Note: "TCP and UDP routers have options of their own",
		},
		{
			Name: "proxy-stream-next-upstream-tries", Default: "3",
			Effect: Missing, Note: "TCP and UDP routers have options of their own",
		},
		{
			Name: "proxy-stream-responses", Default: "1",
			Effect: Missing, Note: "TCP and UDP routers have options of their own",
		},
		{
			Name: "proxy-stream-timeout", Default: "600s",
			Effect: Missing, Note: "TCP and UDP routers have options of their own",
		},
		{Name: "server-snippet", Effect: Missing, Note: "directives of nginx are not executed"},
		{Name: "server-tokens", Default: "false", Effect: Missing, Note: "Sluice sends no Server field of its own"},
		{Name: "ssl-dh-param", Effect: Missing, Note: "suites with finite-field Diffie-Hellman do not exist in Go"},
		{Name: "ssl-early-data", Default: "false", Effect: Missing, Note: "early data is not accepted"},
		{Name: "stream-access-log-path", Effect: Missing, Note: "the access log has requests alone"},
		{Name: "stream-snippet", Effect: Missing, Note: "directives of nginx are not executed"},
		{Name: "syslog-host", Effect: Missing, Note: "logs are not sent to syslog"},
		{Name: "syslog-port", Default: "514", Effect: Missing, Note: "logs are not sent to syslog"},
		{Name: "use-geoip2", Default: "false", Effect: Missing, Note: "Sluice has no GeoIP database"},
	}
}
