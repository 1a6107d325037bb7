package operations

import (
	"slices"
	"testing"
)

// traefikQuery is a query of the dashboards that Traefik publishes: the same series, labels and functions.
type traefikQuery struct {
	name, expr string
	// labels are those that the board shows; each series must have them.
	labels []string
}

func traefikQueries() []traefikQuery {
	rate := func(metric, selector string) string {
		return "rate(traefik_" + metric + "{" + selector + "}[$interval])"
	}
	http := `service=~"$service.*", protocol="http"`
	ok := `code="200", entrypoint=~"$entrypoint"`
	top := func(inner string) string {
		return `topk(15, label_replace(` + inner + ` > 0, "service", "$1", "service", "([^@]+)@.*"))`
	}
	within := func(bound string) string {
		return `1 - sum by (service) (` + rate("service_request_duration_seconds_bucket", `service=~"$service.*", le="`+bound+
			`"`) + `) / sum by (service) (` +
			rate("service_request_duration_seconds_count", `service=~"$service.*"`) + `)`
	}
	return []traefikQuery{
		{"instances", `count(traefik_config_reloads_total)`, nil},
		{"requests of entrypoints", `sum by (entrypoint) (` + rate("entrypoint_requests_total", `entrypoint=~"$entrypoint"`) +
			`)`, []string{"entrypoint"}},
		{
			"apdex", `(sum by (method) (` + rate("entrypoint_request_duration_seconds_bucket", `le="0.3", `+ok) +
				`) + sum by (method) (` +
				rate("entrypoint_request_duration_seconds_bucket", `le="1.2", `+ok) + `)) / 2 / sum by (method) (` +
				rate("entrypoint_request_duration_seconds_count", ok) + `)`, []string{"method"},
		},
		{"codes", `sum by (method, code) (` + rate("service_requests_total", http) + `)`, []string{"method", "code"}},
		{"mean duration", top(`traefik_service_request_duration_seconds_sum{` + http +
			`} / traefik_service_request_duration_seconds_count{` + http + `}`), []string{"service"}},
		{
			"requests of services", top(`sum by (service, code) (` + rate("service_requests_total", http) + `)`),
			[]string{"service", "code"},
		},
		{"slower than 1.2 s", within("1.2"), []string{"service"}},
		{"slower than 0.3 s", within("0.3"), []string{"service"}},
		{
			"2xx", top(`sum by (service, method, code) (` + rate("service_requests_total", http+`, code=~"2.."`) + `)`),
			[]string{"service", "method", "code"},
		},
		{
			"5xx", top(`sum by (service, method, code) (` + rate("service_requests_total", http+`, code=~"5.."`) + `)`),
			[]string{"service", "method", "code"},
		},
		{
			"others", top(`sum by (service, method, code) (` + rate("service_requests_total", http+`, code!~"2..|5.."`) + `)`),
			[]string{"service", "method", "code"},
		},
		{
			"received", top(`sum by (service, method) (` + rate("service_requests_bytes_total", http) + `)`),
			[]string{"service", "method"},
		},
		{
			"sent", top(`sum by (service, method) (` + rate("service_responses_bytes_total", http) + `)`),
			[]string{"service", "method"},
		},
		{
			"open connections", `sum by (entrypoint) (traefik_open_connections{entrypoint=~"$entrypoint"})`,
			[]string{"entrypoint"},
		},
		{"choice of entrypoints", `traefik_open_connections`, []string{"entrypoint"}},
		{"choice of services", `traefik_service_requests_total`, []string{"service"}},
	}
}

// traefikBoards evaluates the queries of Traefik's dashboards.
func (w *world) traefikBoards(t *testing.T) {
	queries := traefikQueries()
	var expressions []string
	for _, query := range queries {
		expressions = append(expressions, chosen(query.expr))
	}
	for i, answer := range w.ask(t, expressions...) {
		if len(answer.Series) == 0 {
			t.Errorf("%s: nothing is shown: %s", queries[i].name, answer.Expr)
		}
		for _, one := range answer.Series {
			if one.Value == "NaN" || slices.ContainsFunc(queries[i].labels, func(label string) bool {
				return one.Labels[label] == ""
			}) {
				t.Errorf("%s: %v is %s", queries[i].name, one.Labels, one.Value)
			}
		}
	}
}

// traefikSeries looks for every series that Traefik has, with all of its labels.
func (w *world) traefikSeries(t *testing.T) {
	wanted := map[string][]string{
		"traefik_config_reloads_total": nil, "traefik_config_last_reload_success": nil,
		"traefik_open_connections":    {"entrypoint", "protocol"},
		"traefik_tls_certs_not_after": {"cn", "serial", "sans"}, "traefik_service_server_up": {"service", "url"},
	}
	for level, own := range map[string][]string{
		"entrypoint": {"entrypoint"}, "router": {"router", "service"},
		"service": {"service"},
	} {
		common := append([]string{"code", "method", "protocol"}, own...)
		prefix := "traefik_" + level
		for _, name := range []string{
			"_requests_total", "_request_duration_seconds_sum", "_request_duration_seconds_count",
			"_requests_bytes_total", "_responses_bytes_total",
		} {
			wanted[prefix+name] = common
		}
		wanted[prefix+"_request_duration_seconds_bucket"] = append(common, "le")
		wanted[prefix+"_requests_tls_total"] = append([]string{"tls_version", "tls_cipher"}, own...)
	}
	var expressions []string
	for metric, labels := range wanted {
		expressions = append(expressions, selector{metric, labels}.every())
	}
	for _, answer := range w.ask(t, expressions...) {
		if len(answer.Series) == 0 {
			t.Errorf("there is no %s", answer.Expr)
		}
	}
}
