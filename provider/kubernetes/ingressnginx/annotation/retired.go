package annotation

// Retired is the name of an annotation that ingress-nginx 1.15 does not read, although older versions or examples have
// it.
type Retired struct {
	// Name is the key without Prefix.
	Name string
	// Replacement is what has the intended effect.
	Replacement string
}

// AllRetired returns the names that have no effect in ingress-nginx 1.15, with what replaces them, in the order of names.
// Keys of the ConfigMap that are written as annotations are not among them.
func AllRetired() []Retired {
	const (
		limit   = "the middleware rateLimit with redis"
		metrics = "metrics of the static configuration"
		prefix  = "x-forwarded-prefix, and links that the application writes itself"
		removed = "nothing: the module is no part of ingress-nginx any more"
		ejects  = "passiveHealthCheck of a load balancer"
	)
	return []Retired{
		{"add-base-url", prefix},
		{"base-url-scheme", prefix},
		{"enable-influxdb", metrics},
		{"enable-opentracing", "enable-opentelemetry"},
		{"enable-websockets", "nothing: WebSockets need no setting"},
		{"global-rate-limit", limit},
		{"global-rate-limit-ignored-cidrs", limit},
		{"global-rate-limit-key", limit},
		{"global-rate-limit-window", limit},
		{"grpc-backend", "backend-protocol: GRPC"},
		{"influxdb-host", metrics},
		{"influxdb-measurement", metrics},
		{"influxdb-port", metrics},
		{"influxdb-server-name", metrics},
		{"lua-resty-waf", removed},
		{"lua-resty-waf-allow-unknown-content-types", removed},
		{"lua-resty-waf-debug", removed},
		{"lua-resty-waf-extra-rules", removed},
		{"lua-resty-waf-ignore-rulesets", removed},
		{"lua-resty-waf-process-multipart-body", removed},
		{"lua-resty-waf-score-threshold", removed},
		{"mirror-uri", "mirror-target"},
		{"opentelemetry-trust-incoming-spans", "opentelemetry-trust-incoming-span"},
		{"opentracing-operation-name", "opentelemetry-operation-name"},
		{"opentracing-trust-incoming-span", "opentelemetry-trust-incoming-span"},
		{"proxy-hide-headers", "the ConfigMap's key hide-headers"},
		{"secure-backends", "backend-protocol: HTTPS"},
		{"secure-verify-ca-secret", "proxy-ssl-secret with proxy-ssl-verify: on"},
		{"session-cookie-hash", "nothing: the value of the cookie has one form"},
		{"session-cookie-partitioned", "partitioned of a sticky cookie of a load balancer"},
		{"upstream-fail-timeout", ejects},
		{"upstream-max-fails", ejects},
		{"vts-filter-key", metrics},
		{"websocket-services", "nothing: WebSockets need no setting"},
	}
}
