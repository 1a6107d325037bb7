package nginxmodel

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/migrate/answer"
	"github.com/sluiceproxy/sluice/migrate/probe"
)

// passthrough returns the answer over a connection with TLS that the controller passes on to the Service of the path
// "/" as it is, in front of nginx, and whether it does. The name of the handshake must be that of the host: aliases and
// wildcards do not count. The endpoint gets the request as it was sent, and refuses what is no URI. Without a Service
// that is ready the connection is closed, which is shown as 502.
func (m *Model) passthrough(p probe.Probe) (out answer.Answer, passed bool) {
	name, _, _ := strings.Cut(strings.ToLower(p.Host), ":")
	to := m.names[name]
	if !m.config.SSLPassthrough || p.Scheme != "https" || to == nil || to.name != name || !to.passthrough {
		return out, false
	}
	at := slices.IndexFunc(to.declared, func(one *place) bool { return one.asked == "/" })
	if at < 0 {
		return out, false
	}
	root := to.declared[at]
	out = answer.Answer{Status: http.StatusOK, Header: http.Header{}, Ingress: root.key(), Step: answer.Forward}
	if root.implied || root.backend == nil || !root.backend.ready {
		out.Status, out.Step = http.StatusBadGateway, answer.NoEndpoint
		return out, true
	}
	if _, err := url.ParseRequestURI(p.Target); err != nil {
		out.Status = http.StatusBadRequest
		return out, true
	}
	out.Upstream = &answer.Upstream{
		Service: root.backend.name(), Method: cmp.Or(p.Method, http.MethodGet), Target: p.Target, Host: p.Host,
		Header: p.Header.Clone(),
	}
	return out, true
}
