package digestauth

import (
	"net/http"
	"strings"

	"github.com/sluiceproxy/sluice/canonical"
	"github.com/sluiceproxy/sluice/telemetry"
)

// isTarget reports whether the parameter uri is the target of the received request, before changes by middlewares. Both
// are compared in canonical form, with their queries.
func isTarget(uri string, r *http.Request, record *telemetry.Record) bool {
	requested, host := record.Path, record.Host
	if requested == "" {
		requested = "*"
		if path, ok := canonical.EscapedPath(r); ok {
			requested = path
		}
		host = r.Host
	}
	uri, ok := originForm(uri, host)
	if !ok {
		return false
	}
	path, query, _ := strings.Cut(uri, "?")
	if query != r.URL.RawQuery && strings.ReplaceAll(query, ";", "%3B") != r.URL.RawQuery {
		return false
	}
	policy := canonical.Policy{Encoded: canonical.AllowAllEncoded()}
	if target, err := policy.Apply(path); err == nil && target.Escaped == requested {
		return true
	}
	policy.Sanitize = true
	target, err := policy.Apply(path)
	return err == nil && target.Escaped == requested
}

// originForm removes scheme and host from an absolute target with this host.
func originForm(uri, host string) (string, bool) {
	scheme, rest, absolute := strings.Cut(uri, "://")
	if strings.HasPrefix(uri, "/") || uri == "*" {
		return uri, true
	}
	if !absolute || !strings.EqualFold(scheme, "http") && !strings.EqualFold(scheme, "https") {
		return "", false
	}
	end := strings.IndexAny(rest, "/?")
	if end < 0 {
		end = len(rest)
	}
	return rest[end:], strings.EqualFold(rest[:end], host)
}
