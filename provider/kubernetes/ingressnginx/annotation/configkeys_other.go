package annotation

// staticKeys are the keys of which the effect is an option of the static configuration.
func staticKeys() []ConfigKey {
	const trusted = "forwardedHeaders.trustedIPs of the entrypoints. Lists and limits take the client from X-Forwarded-For " +
		"then, past the addresses that both trust; where an entrypoint trusts none, locations with lists answer 503, unless " +
		"ipAllowListStrategy of the provider is set"
	const proxy = "proxyProtocol.trustedIPs of the entrypoints; where an entrypoint has none, locations with lists answer " +
		"503, unless ipAllowListStrategy of the provider is set"
	return []ConfigKey{
		{"access-log-path", "/var/log/nginx/access.log", Static, "accessLog.filePath"},
		{"bind-address", "", Static, "address of the entrypoints"},
		{"client-body-timeout", "60", Static, "transport.respondingTimeouts.readTimeout of the entrypoints"},
		{"client-header-buffer-size", "1k", Static, "http.maxHeaderBytes of the entrypoints"},
		{"client-header-timeout", "60", Static, "transport.respondingTimeouts.readTimeout of the entrypoints"},
		{"compute-full-forwarded-for", "false", Static, "forwardedHeaders of the entrypoints"},
		{"disable-ipv6", "false", Static, "address of the entrypoints"},
		{"enable-ocsp", "false", Static, "ocsp"},
		{"enable-opentelemetry", "false", Static, "tracing"},
		{"enable-real-ip", "false", Static, trusted},
		{"error-log-level", "notice", Static, "log.level"},
		{"error-log-path", "/var/log/nginx/error.log", Static, "log.filePath"},
		{"forwarded-for-header", "X-Forwarded-For", Static, "nothing: X-Forwarded-For is read, and locations with lists answer 503 where it would be another header"},
		{"forwarded-for-proxy-protocol-header", "X-Forwarded-For-Proxy-Protocol", Static, "X-Forwarded-For"},
		{"forwarded-host-header", "X-Forwarded-Host", Static, "nothing: X-Forwarded-Host is read"},
		{"http-access-log-path", "", Static, "accessLog.filePath"},
		{"http2-max-concurrent-streams", "128", Static, "http2.maxConcurrentStreams of the entrypoints"},
		{"keep-alive", "75", Static, "transport.respondingTimeouts.idleTimeout of the entrypoints"},
		{"keep-alive-requests", "1000", Static, "transport.keepAliveMaxRequests of the entrypoints"},
		{"large-client-header-buffers", "4 8k", Static, "http.maxHeaderBytes of the entrypoints"},
		{"log-format-escape-json", "false", Static, "accessLog.format: json"},
		{"log-format-escape-none", "false", Static, "accessLog.format"},
		{"log-format-upstream", "", Static, "accessLog.format"},
		{"nginx-status-ipv4-whitelist", "127.0.0.1", Static, "ipAllowList on the router of the API"},
		{"nginx-status-ipv6-whitelist", "::1", Static, "ipAllowList on the router of the API"},
		{"opentelemetry-config", "/etc/ingress-controller/telemetry/opentelemetry.toml", Static, "tracing"},
		{"opentelemetry-operation-name", "", Static, "tracing"},
		{"opentelemetry-trust-incoming-span", "true", Static, "tracing"},
		{"otel-sampler", "AlwaysOn", Static, "tracing.sampleRate"},
		{"otel-sampler-parent-based", "true", Static, "tracing.sampleRate"},
		{"otel-sampler-ratio", "0.01", Static, "tracing.sampleRate"},
		{"otel-service-name", "nginx", Static, "tracing.serviceName"},
		{"otlp-collector-host", "", Static, "tracing.otlp"},
		{"otlp-collector-port", "4317", Static, "tracing.otlp"},
		{"proxy-protocol-header-timeout", "5s", Static, "transport.respondingTimeouts of the entrypoints"},
		{"proxy-real-ip-cidr", "0.0.0.0/0", Static, trusted},
		{"reuse-port", "true", Static, "reusePort of the entrypoints"},
		{"skip-access-log-urls", "", Static, "accessLog.filters"},
		{"ssl-ecdh-curve", "auto", Static, "curvePreferences of tls.options"},
		{"ssl-reject-handshake", "false", Static, "sniStrict of the TLS options default, which also refuses hosts without a " +
			"certificate of their own"},
		{"ssl-session-ticket-key", "", Static, "tls.options"},
		{"ssl-session-tickets", "false", Static, "tls.options"},
		{"upstream-keepalive-connections", "320", Static, "serversTransport.maxIdleConnsPerHost"},
		{"upstream-keepalive-requests", "10000", Static, "nothing: a connection is not limited in requests"},
		{"upstream-keepalive-time", "1h", Static, "nothing: a connection is not limited in time"},
		{"use-forwarded-headers", "false", Static, trusted},
		{"use-http2", "true", Static, "http2 of the entrypoints"},
		{"use-proxy-protocol", "false", Static, proxy},
		{"worker-shutdown-timeout", "240s", Static, "transport.lifeCycle.graceTimeOut of the entrypoints"},
	}
}

// unsupportedKeys are the keys of which the effect is missing.
func unsupportedKeys() []ConfigKey {
	const firewall = "Sluice has no web application firewall"
	return []ConfigKey{
		{"brotli-level", "4", Missing, "the level of compression is that of the middleware compress"},
		{"default-type", "text/html", Missing, "a response without Content-Type stays without"},
		{"disable-stream-access-log", "false", Missing, "the access log has requests alone"},
		{"enable-owasp-modsecurity-crs", "false", Missing, firewall},
		{"enable-syslog", "false", Missing, "logs are not sent to syslog"},
		{"enable-underscores-in-headers", "false", Missing, "such headers are passed on"},
		{"geoip2-autoreload-in-minutes", "0", Missing, "Sluice has no GeoIP database"},
		{"gzip-disable", "", Missing, "compression does not depend on the browser"},
		{"gzip-level", "1", Missing, "the level of compression is that of the middleware compress"},
		{"http-snippet", "", Missing, "directives of nginx are not executed"},
		{"ignore-invalid-headers", "true", Missing, "requests with invalid headers are refused by 400"},
		{"limit-conn-zone-variable", "$binary remote addr", Missing, "connections are counted by the address of the client"},
		{"location-snippet", "", Missing, "directives of nginx are not executed"},
		{"log-format-stream", "", Missing, "the access log has requests alone"},
		{"main-snippet", "", Missing, "directives of nginx are not executed"},
		{"modsecurity-snippet", "", Missing, firewall},
		{"proxy-stream-next-upstream", "true", Missing, "TCP and UDP routers have options of their own"},
		{"proxy-stream-next-upstream-timeout", "600s", Missing, "TCP and UDP routers have options of their own"},
		{"proxy-stream-next-upstream-tries", "3", Missing, "TCP and UDP routers have options of their own"},
		{"proxy-stream-responses", "1", Missing, "TCP and UDP routers have options of their own"},
		{"proxy-stream-timeout", "600s", Missing, "TCP and UDP routers have options of their own"},
		{"server-snippet", "", Missing, "directives of nginx are not executed"},
		{"server-tokens", "false", Missing, "Sluice sends no Server field of its own"},
		{"ssl-dh-param", "", Missing, "suites with finite-field Diffie-Hellman do not exist in Go"},
		{"ssl-early-data", "false", Missing, "early data is not accepted"},
		{"stream-access-log-path", "", Missing, "the access log has requests alone"},
		{"stream-snippet", "", Missing, "directives of nginx are not executed"},
		{"syslog-host", "", Missing, "logs are not sent to syslog"},
		{"syslog-port", "514", Missing, "logs are not sent to syslog"},
		{"use-geoip2", "false", Missing, "Sluice has no GeoIP database"},
	}
}
