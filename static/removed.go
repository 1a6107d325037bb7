package static

import (
	"path"
	"strings"
)

// removed explains an option that Traefik v2 had and v3 has not; it returns "" for every other path.
func removed(option string) string {
	option = strings.ToLower(option)
	for _, gone := range []struct{ pattern, instead string }{
		{"pilot", "was removed in Traefik v3 and has no successor"},
		{"experimental.http3", "was removed in Traefik v3; use entryPoints.NAME.http3"},
		{"experimental.hub", "was removed in Traefik v3 and has no successor"},
		{"providers.marathon", "was removed in Traefik v3 and has no successor"},
		{"providers.rancher", "was removed in Traefik v3 and has no successor"},
		{"providers.docker.swarmmode", "was removed in Traefik v3; use providers.swarm"},
		{"providers.docker.swarmmoderefreshseconds", "was removed in Traefik v3; use providers.swarm.refreshSeconds"},
		{"providers.*.tls.caoptional", "was removed in Traefik v3; it never had an effect on a client"},
		{"providers.*.endpoint.tls.caoptional", "was removed in Traefik v3; it never had an effect on a client"},
		{"providers.consul.namespace", "was removed in Traefik v3; use providers.consul.namespaces"},
		{"providers.consulcatalog.namespace", "was removed in Traefik v3; use providers.consulCatalog.namespaces"},
		{"providers.nomad.namespace", "was removed in Traefik v3; use providers.nomad.namespaces"},
		{"metrics.influxdb", "was removed in Traefik v3; use metrics.influxDB2"},
		{"tracing.spannamelimit", "was removed in Traefik v3 and has no successor"},
		{"tracing.jaeger", "was removed in Traefik v3; use tracing.otlp"},
		{"tracing.zipkin", "was removed in Traefik v3; use tracing.otlp"},
		{"tracing.datadog", "was removed in Traefik v3; use tracing.otlp"},
		{"tracing.instana", "was removed in Traefik v3; use tracing.otlp"},
		{"tracing.haystack", "was removed in Traefik v3; use tracing.otlp"},
		{"tracing.elastic", "was removed in Traefik v3; use tracing.otlp"},
	} {
		pattern := strings.ReplaceAll(gone.pattern, ".", "/")
		if ok, err := path.Match(pattern, strings.ReplaceAll(option, ".", "/")); ok && err == nil {
			return gone.instead
		}
	}
	return ""
}
