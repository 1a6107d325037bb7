package forward_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/certificate/spiffe"
	"github.com/sluiceproxy/sluice/certificate/spiffe/spiffetest"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forward"
	"github.com/sluiceproxy/sluice/loadbalancer"
	"github.com/sluiceproxy/sluice/telemetry"
)

// workload is a Workload API with what follows it, and an endpoint that demands an SVID.
type workload struct {
	t       *testing.T
	api     *spiffetest.API
	own     *spiffetest.Authority
	source  *spiffe.Source
	backend dynamic.Server
}

// newWorkload returns a workload whose API does not listen. The endpoint answers with the protocol, whether the session
// was resumed, and the identity of its client.
func newWorkload(t *testing.T, http2 bool) *workload {
	t.Helper()
	w := &workload{
		t: t, own: spiffetest.NewAuthority(t, "own.test"),
		api: spiffetest.NewAPI(t, filepath.Join(t.TempDir(), "api.sock")),
	}
	var err error
	w.source, err = spiffe.New(spiffe.Options{
		Address: w.api.Address(), Logger: telemetry.Discard{}, LongestPause: 20 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { w.source.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(out, "%s resumed=%t %v", r.Proto, r.TLS.DidResume, r.TLS.PeerCertificates[0].URIs)
	}))
	server.Config.ErrorLog = silent()
	server.EnableHTTP2 = http2
	server.TLS = &tls.Config{
		Certificates: []tls.Certificate{w.own.Issue("/shop", time.Now().Add(time.Hour)).TLS},
		ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: w.own.Pool(),
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	w.backend = dynamic.Server{URL: server.URL}
	return w
}

// deliver has the API send an SVID, and waits until it is in use.
func (w *workload) deliver(path string) {
	w.t.Helper()
	svid := w.own.Issue(path, time.Now().Add(time.Hour))
	w.api.Deliver(spiffetest.Delivery(w.t, svid, []*spiffetest.Authority{w.own}))
	ctx, cancel := context.WithTimeout(w.t.Context(), eventTimeout)
	defer cancel()
	for id := ""; id != svid.ID; id, _ = w.source.SVID() {
		select {
		case <-w.source.Changed():
		case <-ctx.Done():
			w.t.Fatalf("no SVID %s: %v", svid.ID, w.source.Ready())
		}
	}
}

// proxy returns a proxy that accepts identities.
func (w *workload) proxy(accepted dynamic.Spiffe) *rig {
	w.t.Helper()
	return newProxy(w.t, setup{
		server: w.backend, identity: w.source,
		transport: &dynamic.ServersTransport{Spiffe: &accepted},
	})
}

func TestSPIFFE(t *testing.T) {
	for protocol, http2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true} {
		t.Run(protocol, func(t *testing.T) {
			w := newWorkload(t, http2)
			g := w.proxy(dynamic.Spiffe{IDs: []string{"spiffe://own.test/shop"}})

			// Without an SVID the endpoint is not tried, and not to blame.
			response, _ := g.get(t, "/")
			equal(t, "status without an SVID", response.StatusCode, http.StatusServiceUnavailable)
			if reason := g.record(t).Reason; !strings.Contains(reason, "has delivered no X.509-SVID yet") {
				t.Errorf("reason %q", reason)
			}
			for state := range g.pool.Snapshot().States() {
				equal(t, "state of the endpoint", state, loadbalancer.Serving)
			}
			w.api.Start()
			w.deliver("/proxy")
			_, body := g.get(t, "/")
			equal(t, "first SVID", body, protocol+" resumed=false [spiffe://own.test/proxy]")

			// A connection keeps the SVID of its handshake, the next one has the new SVID and resumes no session.
			w.deliver("/renamed")
			_, body = g.get(t, "/")
			equal(t, "kept connection", body, protocol+" resumed=false [spiffe://own.test/proxy]")
			memberOf(g.pool).Upstream().RoundTripper().CloseIdleConnections()
			_, body = g.get(t, "/")
			equal(t, "new connection", body, protocol+" resumed=false [spiffe://own.test/renamed]")

			response, _ = w.proxy(dynamic.Spiffe{IDs: []string{"spiffe://own.test/cart"}}).get(t, "/")
			equal(t, "status with another identity", response.StatusCode, http.StatusBadGateway)
		})
	}
}

// Other ways to authenticate servers are not ignored beside spiffe.
func TestSPIFFEExcludes(t *testing.T) {
	w := newWorkload(t, false)
	for option, config := range map[string]dynamic.ServersTransport{
		"serverName":         {ServerName: "a"},
		"insecureSkipVerify": {InsecureSkipVerify: true},
		"rootCAs":            {RootCAs: []string{w.own.PEM()}},
		"certificates":       {Certificates: []dynamic.Certificate{{}}},
		"peerCertURI":        {PeerCertURI: "spiffe://own.test/shop"},
		"peerCertSANs":       {PeerCertSANs: sans("URI", "spiffe://own.test/shop")},
	} {
		config.Spiffe = &dynamic.Spiffe{}
		_, err := forward.NewTransport("test", &config, w.source)
		if err == nil || !strings.Contains(err.Error(), "spiffe excludes "+option+":") {
			t.Errorf("%s: %v", option, err)
		}
	}
	wrong := &dynamic.ServersTransport{Spiffe: &dynamic.Spiffe{IDs: []string{"a"}}}
	_, err := forward.NewTransport("test", wrong, w.source)
	if err == nil || !strings.Contains(err.Error(), "spiffe.ids[0]") {
		t.Errorf("an invalid identity: %v", err)
	}
	if _, err := forward.NewTransport("test", &dynamic.ServersTransport{
		Spiffe: &dynamic.Spiffe{}, MinVersion: "VersionTLS13", DisableHTTP2: true,
	}, w.source); err != nil {
		t.Error(err)
	}
}
