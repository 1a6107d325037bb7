package handover

import (
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// TestNoRequestFails hands over several times under requests on new and on kept connections, none of which fails. The
// listeners beside the entrypoints are handed over too.
func TestNoRequestFails(t *testing.T) {
	const generations = 4
	s := newService(t, `
xds: {address: "${XDS}"}
inspector: {address: "${INSPECTOR}"}
injector:
  address: "127.0.0.1:0"
  statusAddress: "${STATUS}"
  config: "${DIR}"
  events: false
  webhookConfiguration: ""
  drainTimeout: 10ms
  tls: {certFile: "${CERT}", keyFile: "${KEY}"}
`)
	s.beside()
	current := harness.Start(t, s.setup)
	done := make(chan struct{})
	var work sync.WaitGroup
	counts := map[string]*atomic.Int64{}
	client := func(name string, send func() (int, error)) {
		count := new(atomic.Int64)
		counts[name] = count
		work.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				n, err := send()
				if err != nil {
					t.Errorf("%s: after %d requests: %v", name, count.Load(), err)
					return
				}
				count.Add(int64(n))
			}
		})
	}
	for _, keep := range []bool{false, true} {
		client(fmt.Sprintf("HTTP/1.1, kept: %v", keep), func() (int, error) {
			return sendHTTP1(t.Context(), s.web, false, keep, done)
		})
		client(fmt.Sprintf("HTTP/1.1 with TLS, kept: %v", keep), func() (int, error) {
			return sendHTTP1(t.Context(), s.secure, true, keep, done)
		})
	}
	for name, variable := range map[string]string{"inspector": "INSPECTOR", "injector": "STATUS", "xDS": "XDS"} {
		address := s.setup.Vars[variable]
		client(name, func() (int, error) {
			if variable == "XDS" {
				return connectHTTP2(t.Context(), address)
			}
			return sendHTTP1(t.Context(), address, false, false, done)
		})
	}
	for protocol, address := range map[harness.Protocol]string{harness.H2: s.secure, harness.H2C: s.web} {
		http2 := harness.NewClient(t, protocol, address, "any.test", clientTLS())
		client(string(protocol), func() (int, error) {
			response, err := http2.Try(http2.Request(http.MethodGet, "/ok", nil))
			if err == nil && response.StatusCode >= http.StatusInternalServerError {
				err = fmt.Errorf("status %d", response.StatusCode)
			}
			return 1, err
		})
	}
	for range generations {
		before := map[string]int64{}
		for name, count := range counts {
			before[name] = count.Load()
		}
		current = s.succeed(current)
		for name, count := range counts {
			harness.Until(t, "requests of "+name, func() bool { return t.Failed() || count.Load() > before[name] })
		}
	}
	close(done)
	work.Wait()
	for name, count := range counts {
		t.Logf("%s: %d requests", name, count.Load())
	}
}

// TestConnectionsStay has a connection of a TCP router and idle ones of HTTP/1.1 go on in the predecessor, and serves
// datagrams and HTTP/3 anew in the successor. That orders certificates while the predecessor drains.
func TestConnectionsStay(t *testing.T) {
	s := newService(t, `
certificatesResolvers:
  le: {acme: {storage: "${STORAGE}", caServer: "https://127.0.0.1:1/dir", httpChallenge: {entryPoint: web}}}
`)
	s.setup.Vars["STORAGE"] = filepath.Join(t.TempDir(), "acme.json")
	const ordering = "this replica orders certificates"
	first := harness.Start(t, s.setup)
	first.WaitLog(ordering)
	ping := harness.NewClient(t, harness.H1, first.Addr("traefik"), "any.test", nil)
	ping.Get("/ping")
	mail, dns := dial(t, "tcp", s.mail), dial(t, "udp", s.dns)
	exchange(t, mail, "a\n")
	exchange(t, dns, "a")
	s.answers(t, harness.H3)
	idle := harness.NewClient(t, harness.H1, s.web, "any.test", nil)
	idle.Get("/ok")
	second := harness.Start(t, s.setup)
	second.WaitLog("serving in the place of the predecessor")
	first.WaitLog("handed over")
	exchange(t, mail, "b\n")
	if got := idle.Get("/ok"); !got.Close {
		t.Error("the response on an idle connection does not end it")
	}
	if got := ping.Get("/ping"); !got.Close || got.StatusCode != http.StatusOK {
		t.Errorf("a health check of the predecessor: status %d, close %v", got.StatusCode, got.Close)
	}
	second.WaitLog(ordering)
	exchange(t, dial(t, "tcp", s.mail), "c\n")
	exchange(t, dial(t, "udp", s.dns), "c")
	s.answers(t, harness.H3)
	select {
	case <-first.Ended():
		t.Error("the predecessor has ended while a connection is open")
	default:
	}
	_ = mail.Close()
	if code := first.Wait(); code != 0 {
		t.Errorf("the predecessor ended with exit code %d", code)
	}
}

// TestStay waits for SIGTERM after a hand-over.
func TestStay(t *testing.T) {
	s := newService(t, "")
	s.setup.Args = []string{"--handover.stay"}
	first := harness.Start(t, s.setup)
	second := harness.Start(t, s.setup)
	second.WaitLog("serving in the place of the predecessor")
	first.WaitLog("all connections have ended")
	select {
	case <-first.Ended():
		t.Error("it has ended")
	default:
	}
	first.Stop()
	s.answers(t, harness.H1)
}
