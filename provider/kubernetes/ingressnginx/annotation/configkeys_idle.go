package annotation

import "strings"

// idleKeys are the keys that change no answer: they tune nginx, or have no effect in 1.15.
func idleKeys() []string {
	return strings.Fields(`
		access-log-params allow-snippet-annotations app-root debug-connections disable-ipv6-dns enable-aio-write
		enable-auth-access-log enable-multi-accept enable-serial-reloads grpc-buffer-size-kb http2-max-field-size
		http2-max-header-size http2-max-requests lua-shared-dicts map-hash-bucket-size max-worker-connections
		max-worker-open-files otel-max-export-batch-size otel-max-queuesize otel-schedule-delay-millis
		proxy-buffer-size proxy-buffering proxy-buffers-number proxy-busy-buffers-size proxy-headers-hash-bucket-size
		proxy-headers-hash-max-size proxy-max-temp-file-size server-name-hash-bucket-size server-name-hash-max-size
		ssl-buffer-size ssl-session-cache ssl-session-cache-size ssl-session-timeout strict-validate-path-type
		upstream-hash-by upstream-hash-by-subset upstream-hash-by-subset-size variables-hash-bucket-size
		variables-hash-max-size worker-cpu-affinity worker-processes`)
}

// retiredKeys are the keys that the documentation of 1.15 has and its code has not.
func retiredKeys() []string {
	return strings.Fields(`
		jaeger-baggage-header jaeger-collector-host jaeger-collector-port jaeger-debug-header jaeger-endpoint
		jaeger-propagation-format jaeger-sampler-host jaeger-sampler-param jaeger-sampler-port jaeger-sampler-type
		jaeger-service-name jaeger-trace-baggage-header-prefix jaeger-trace-context-header-name use-geoip`)
}
