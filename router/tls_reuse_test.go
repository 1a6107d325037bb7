package router_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
)

// status sends a request for a host over a connection that was accepted for a server name.
func (l *listeners) status(entryPoint, serverName, host string) int {
	l.t.Helper()
	options, ok := l.target.TLS(entryPoint).SelectTLS(serverName)
	if !ok {
		l.t.Fatalf("no TLS options for server name %q on %s", serverName, entryPoint)
	}
	r := httptest.NewRequestWithContext(l.t.Context(), http.MethodGet, "https://"+host+"/", http.NoBody)
	r.TLS = &tls.ConnectionState{ServerName: serverName}
	connection := &certificate.Connection{Fingerprint: options.Fingerprint, ServerName: serverName}
	recorder := httptest.NewRecorder()
	l.target.Handler(entryPoint).ServeHTTP(recorder, r.WithContext(certificate.WithConnection(r.Context(), connection)))
	return recorder.Code
}

// TestDefaultOptionsOfListenersBindReusedConnections requests hosts over connections that were accepted for others.
func TestDefaultOptionsOfListenersBindReusedConnections(t *testing.T) {
	l := newListeners(t)
	l.tls.Options = immutable.Of(map[string]*dynamic.TLSOptions{
		"strict@file": {
			EntryPoints: []string{"inner"}, ClientAuth: dynamic.ClientAuth{ClientAuthType: "RequireAnyClientCert"},
		},
		"special@file": {},
	})
	l.apply(append(routers(), optionsRef("strict@file"), optionsRef("special@file"))...)
	l.wantVerdicts(nil)
	for _, test := range []struct {
		entryPoint, serverName, host string
		status                       int
	}{
		{"inner", "a.test", "a.test", http.StatusOK},
		{"inner", "", "a.test", http.StatusOK},
		{"inner", "s.test", "s.test", http.StatusOK},
		{"inner", "s.test", "a.test", http.StatusMisdirectedRequest},
		{"inner", "s.test", "a.test.", http.StatusMisdirectedRequest},
		{"inner", "a.test", "S.test:443", http.StatusMisdirectedRequest},
		{"outer", "a.test", "a.test", http.StatusOK},
	} {
		if got := l.status(test.entryPoint, test.serverName, test.host); got != test.status {
			t.Errorf("%+v: status %d", test, got)
		}
	}
}

// TestRefusedDefaultOptionsOfListenersFailClosed has the provider refuse options of which it has understood the
// entrypoints.
func TestRefusedDefaultOptionsOfListenersFailClosed(t *testing.T) {
	l := newListeners(t)
	l.tls.Options = immutable.Of(map[string]*dynamic.TLSOptions{
		"strict@file": {EntryPoints: []string{"inner"}}, "special@file": {ClientAuth: dynamic.ClientAuth{
			ClientAuthType: "RequireAnyClientCert",
		}},
	})
	l.refused = []dynamic.Verdict{{
		Ref: optionsRef("strict@file"), Status: dynamic.Quarantined, Reason: "clientAuht: unknown option",
	}}
	l.apply(append(routers(), optionsRef("strict@file"), optionsRef("special@file"))...)
	l.want("inner", "a.test", tls13, "")
	l.want("inner", "", tls13, "")
	l.want("outer", "a.test", tls12, default12)
	if got := l.status("inner", "s.test", "a.test"); got != http.StatusMisdirectedRequest {
		t.Errorf("over the connection of a host with options of its own: status %d", got)
	}
}
