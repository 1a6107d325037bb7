package static

// Descriptors says how the file descriptors of the process are used.
type Descriptors struct {
	Reserve int `json:"reserve" description:"Number of file descriptors that new connections of clients and to endpoints leave free, for the entrypoints of ping, metrics and the API, for health checks and for files; at most a quarter of what the process may open. 0 reserves none." range:"0.."`
}

// SetDefaults keeps 64 descriptors in reserve.
func (d *Descriptors) SetDefaults() { d.Reserve = 64 }

// limits warns of limits of a TCP entrypoint that have no effect, or another one than their names say.
func (l *loader) limits(name string, e *EntryPoint) {
	limits := &e.Transport.Limits
	warn := func(reason, option string) {
		l.warn(reason, "entryPoints", name, "transport", "limits", option)
	}
	if limits.ConnectionBurst > 0 && limits.MaxConnectionRate == 0 && limits.MaxConnectionRatePerClient == 0 {
		warn("has no effect without maxConnectionRate or maxConnectionRatePerClient", "connectionBurst")
	}
	if limits.RequestBurst > 0 && limits.MaxRequestRate == 0 && limits.MaxRequestRatePerClient == 0 {
		warn("has no effect without maxRequestRate or maxRequestRatePerClient", "requestBurst")
	}
	if e.ProxyProtocol != nil || !e.ForwardedHeaders.Insecure && len(e.ForwardedHeaders.TrustedIPs) == 0 {
		return
	}
	for _, limit := range []struct {
		option string
		value  int
	}{
		{"maxConnectionsPerClient", limits.MaxConnectionsPerClient},
		{"maxConnectionRatePerClient", limits.MaxConnectionRatePerClient},
		{"maxHandshakeRatePerClient", limits.MaxHandshakeRatePerClient},
		{"maxRequestRatePerClient", limits.MaxRequestRatePerClient},
	} {
		if limit.value > 0 {
			warn("counts all clients of a proxy that forwardedHeaders trusts as one, by the address of the connection; "+
				"use proxyProtocol, or the middleware rateLimit", limit.option)
		}
	}
}
