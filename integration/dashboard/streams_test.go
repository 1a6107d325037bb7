package dashboard

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// streams has TCP and UDP objects, of which one TCP router cannot be applied. A service has the name of an HTTP
// service. @ stands for a backtick.
const streams = `
http:
  routers:
    shop: {rule: "Host(@shop.example.com@)", service: db, entryPoints: [web]}
  services:
    db: {loadBalancer: {servers: [{url: "http://${A}"}]}}
tcp:
  routers:
    db: {rule: "HostSNI(@*@)", service: db, middlewares: [office], entryPoints: [db]}
    mail: {rule: "HostSNI(@mail.example.com@)", service: split, entryPoints: [websecure], tls: {passthrough: true}}
    broken: {rule: "HostSNI(@broken.example.com@)", service: nowhere, entryPoints: [websecure], tls: {}}
  services:
    db: {loadBalancer: {servers: [{address: "${A}"}, {address: "127.0.0.1:1"}]}}
    spare: {loadBalancer: {servers: [{address: "${A}"}]}}
    split: {weighted: {services: [{name: db, weight: 3}, {name: spare, weight: 1}]}}
  middlewares:
    office: {ipAllowList: {sourceRange: [127.0.0.0/8]}}
udp:
  services:
    dns: {loadBalancer: {servers: [{address: "127.0.0.1:53"}], responses: 1}}
`

// TestStreams shows TCP and UDP objects beside those of HTTP, and connections as they end.
func TestStreams(t *testing.T) {
	chromium := newBrowser(t)
	sluice := harness.Start(t, harness.Setup{
		Static:  strings.Replace(static, "  traefik:", "  db: {address: \"127.0.0.1:0\"}\n  traefik:", 1),
		Dynamic: map[string]string{"streams.yaml": strings.ReplaceAll(streams, "@", "`")},
		Vars:    map[string]string{"A": harness.StartBackend(t, "a", nil).H1},
	})
	sluice.Until("a router that is not in use", func(r harness.Readiness) bool { return r.Quarantined == 1 })
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		connections(ctx, sluice.Addr("db"))
	}()
	chromium.run(t, sluice, "/dashboard/", "streams")
	stop()
	<-done
}

// connections opens connections, one after the other, and closes each after an answer or a second.
func connections(ctx context.Context, address string) {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			continue
		}
		if err = conn.SetDeadline(time.Now().Add(time.Second)); err == nil {
			_, err = conn.Write([]byte("GET / HTTP/1.1\r\nHost: db\r\n\r\n"))
		}
		if err == nil {
			_, _ = conn.Read(make([]byte, 512))
		}
		_ = conn.Close()
	}
}
