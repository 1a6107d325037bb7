package protocol

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/quic-go/quic-go/http3"
	"golang.org/x/net/http2"

	"github.com/sluiceproxy/sluice/integration/harness"
)

const injecting = `
http:
  routers:
    reset: {rule: Host("reset.test"), middlewares: [reset], service: one}
    cut: {rule: Host("cut.test"), middlewares: [cut], service: one}
    abort: {rule: Host("abort.test"), middlewares: [abort], service: one}
  middlewares:
    reset: {fault: {headers: {X-Fault: "on"}, reset: {}}}
    cut: {fault: {headers: {X-Fault: "on"}, reset: {afterHead: true}}}
    abort: {fault: {headers: {X-Fault: "on"}, delay: {duration: 10ms}, abort: {status: 502, grpcStatus: 14}}}
  services:
    one: {loadBalancer: {servers: [{url: "http://${H1}"}]}}
tls:
  certificates: [{certFile: "${CERT}", keyFile: "${KEY}"}]
`

// TestInjectedFaults has the middleware fault end requests of every protocol, of which the service gets none. Requests
// without the header are served, in HTTP/2 and HTTP/3 by the same connection.
func TestInjectedFaults(t *testing.T) {
	t.Parallel()
	authority := harness.NewAuthority(t)
	backend := harness.StartBackend(t, "one", authority)
	front := authority.Issue("wildcard", "*.test")
	w := &world{authority: authority, backend: backend}
	w.sluice = harness.Start(t, harness.Setup{
		Static: static, Dynamic: map[string]string{"all.yaml": injecting},
		Vars: map[string]string{"H1": backend.H1, "CERT": front.CertFile, "KEY": front.KeyFile},
	})
	for _, protocol := range append(harness.Protocols(), harness.H3) {
		for _, host := range []string{"reset", "cut", "abort"} {
			t.Run(fmt.Sprint(protocol, " ", host), func(t *testing.T) {
				client := w.client(t, protocol, host+".test")
				if got := client.Get("/"); got.StatusCode != http.StatusOK {
					t.Fatalf("without the header: status %d", got.StatusCode)
				}
				seen := backend.Seen()
				// A client would send a GET again.
				request := client.Request(http.MethodPost, "/", strings.NewReader("a body"))
				request.Header.Set("X-Fault", "on")
				status, err := fate(client, request)
				switch host {
				case "abort":
					if status != http.StatusBadGateway || err != nil {
						t.Errorf("got %d, %v", status, err)
					}
				case "cut":
					overtaken := protocol == harness.H3 && status == 0 // QUIC need not deliver what was sent before a reset.
					if status != http.StatusOK && !overtaken || !isReset(protocol, err, io.ErrUnexpectedEOF) {
						t.Errorf("got %d, %v", status, err)
					}
				default:
					if status != 0 || !isReset(protocol, err, syscall.ECONNRESET) {
						t.Errorf("got %d, %v", status, err)
					}
				}
				if now := backend.Seen(); now != seen {
					t.Errorf("the service got %d requests", now-seen)
				}
				if got := client.Get("/"); got.StatusCode != http.StatusOK {
					t.Errorf("afterwards: status %d", got.StatusCode)
				}
			})
		}
	}
}

// fate returns the status of the answer, 0 without one, and how the exchange has failed.
func fate(client *harness.Client, request *http.Request) (status int, err error) {
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close() //nolint:errcheck // It has been read.
	_, err = io.ReadAll(response.Body)
	return response.StatusCode, err
}

// isReset reports whether an error is that of a stream which the server has reset, or for HTTP/1.1 a certain one.
func isReset(protocol harness.Protocol, err, want error) bool {
	switch {
	case protocol == harness.H3:
		failed, ok := errors.AsType[*http3.Error](err)
		return ok && failed.Remote
	case protocol.HTTP2():
		var failed http2.StreamError
		return errors.As(err, &failed) && failed.Code == http2.ErrCodeInternal
	}
	return errors.Is(err, want)
}
