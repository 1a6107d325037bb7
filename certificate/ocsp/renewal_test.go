package ocsp_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	wire "golang.org/x/crypto/ocsp"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/certificate/ocsp"
)

// changing is a responder whose responses change; nil means that it is down. It counts requests.
type changing struct {
	delay time.Duration

	mutex   sync.Mutex
	answer  answers
	asked   int
	running int
	most    int
}

func (c *changing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.count(1)
	if c.delay > 0 {
		<-time.NewTimer(c.delay).C
	}
	c.count(-1)
	c.mutex.Lock()
	answer := c.answer
	c.mutex.Unlock()
	if answer == nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	answer.ServeHTTP(w, r)
}

func (c *changing) count(by int) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.asked += max(by, 0)
	c.running += by
	c.most = max(c.most, c.running)
}

// become changes the responses, and resets how many requests there were at a time.
func (c *changing) become(answer answers) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.answer, c.most = answer, 0
}

// requests returns how many there were, and how many at a time.
func (c *changing) requests() (asked, most int) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.asked, c.most
}

func (c *changing) total() int {
	asked, _ := c.requests()
	return asked
}

// lasting makes responses that count from now on for a time.
func lasting(a *authority, life time.Duration) answers {
	return func(request *wire.Request) []byte {
		return a.response(request, wire.Response{ThisUpdate: time.Now(), NextUpdate: time.Now().Add(life)})
	}
}

// A response is renewed at the half-way point of its life. While that fails it is stapled until its end, and not a
// moment longer; attempts go on with pauses of at most 75 minutes.
func TestRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		responder := &changing{answer: lasting(a, 8*time.Hour)}
		f := begin(t, ocsp.Options{Transport: network{"ocsp.test": responder}}, a.entry(7, nil, url))
		defer f.stop()
		pass(0)
		first := f.staple()
		if pass(4*time.Hour - time.Second); responder.total() != 1 {
			t.Fatalf("%d requests before the half", responder.total())
		}
		pass(time.Second)
		second := f.staple()
		if responder.total() != 2 || bytes.Equal(first, second) {
			t.Fatalf("%d requests at the half", responder.total())
		}
		responder.become(nil)
		pass(4 * time.Hour)
		if status := f.status(); status.State != "failing" || !status.Stapled || len(f.Verdicts()) > 0 {
			t.Errorf("half of the life is left: %+v, verdicts %v", status, f.Verdicts())
		}
		drain(f.Changed())
		pass(3 * time.Hour)
		if !drain(f.Changed()) {
			t.Error("the verdict before the end is not signalled")
		}
		if v := f.Verdicts(); len(v) != 1 || !strings.Contains(v[0].Reason, "ends on 2000-01-01 12:00:00, and has not been") {
			t.Errorf("an eighth of the life is left: %v", v)
		}
		if pass(time.Hour - time.Second); !bytes.Equal(f.staple(), second) {
			t.Error("the response is gone before its end")
		}
		pass(time.Second)
		if v := f.Verdicts(); f.staple() != nil || len(v) != 1 ||
			!strings.Contains(v[0].Reason, "no OCSP response is stapled since 2000-01-01 12:00:00: http://ocsp.test: ") {
			t.Errorf("after the end: %v", v)
		}
		asked := responder.total()
		if asked < 8 || asked > 15 {
			t.Errorf("%d requests", asked)
		}
		responder.become(lasting(a, 8*time.Hour))
		if pass(75 * time.Minute); f.staple() == nil || len(f.Verdicts()) > 0 || f.status().Failures != 0 {
			t.Errorf("after the responder is back: %+v", f.status())
		}
	})
}

// drain reports whether a channel has held a value.
func drain(channel <-chan struct{}) bool {
	select {
	case <-channel:
		return true
	default:
		return false
	}
}

// unknown is a responder that does not know certificates, and says so for a week.
func unknown(a *authority) answers {
	return func(request *wire.Request) []byte {
		return a.response(request, wire.Response{
			ThisUpdate: time.Now(), NextUpdate: time.Now().Add(7 * 24 * time.Hour), Status: wire.Unknown,
		})
	}
}

// A responder that does not know a new certificate yet is queried again soon. One that does not know a certificate any
// more does not take away a response that is still valid.
func TestResponderThatDoesNotKnowACertificate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		responder := &changing{answer: unknown(a)}
		f := begin(t, ocsp.Options{Transport: network{"ocsp.test": responder}}, a.entry(7, nil, url))
		defer f.stop()
		pass(time.Second)
		if state := f.status().State; state != "unknown" || f.staple() != nil {
			t.Errorf("state %s", state)
		}
		responder.become(lasting(a, 8*time.Hour))
		pass(time.Minute)
		first := f.staple()
		if first == nil {
			t.Errorf("a minute after the responder knows it: %+v", f.status())
		}
		responder.become(unknown(a))
		pass(5 * time.Hour)
		if status := f.status(); !bytes.Equal(f.staple(), first) || !strings.Contains(status.Error, "any more") {
			t.Errorf("the response is gone: %+v", status)
		}
	})
}

// A handshake staples nothing that has ended, even if nothing runs in the background.
func TestEndWithoutRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		f := begin(t, ocsp.Options{Transport: network{"ocsp.test": lasting(a, time.Hour)}}, a.entry(7, nil, url))
		pass(0)
		f.stop()
		if pass(time.Hour - time.Second); f.staple() == nil {
			t.Error("no response before its end")
		}
		if pass(time.Second); f.staple() != nil {
			t.Error("a response after its end")
		}
	})
}

// A certificate that is revoked loses its staple at the next renewal, and an older response does not bring it back.
func TestRevocation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		begun := time.Now()
		responder := &changing{answer: lasting(a, 2*time.Hour)}
		f := begin(t, ocsp.Options{Transport: network{"ocsp.test": responder}}, a.entry(7, nil, url))
		defer f.stop()
		pass(0)
		responder.become(func(request *wire.Request) []byte {
			return a.response(request, wire.Response{
				ThisUpdate: time.Now(), NextUpdate: time.Now().Add(2 * time.Hour), Status: wire.Revoked, RevokedAt: begun,
			})
		})
		pass(time.Hour)
		if status := f.status(); f.staple() != nil || status.State != "revoked" {
			t.Errorf("status %+v", status)
		}
		responder.become(func(request *wire.Request) []byte {
			return a.response(request, wire.Response{ThisUpdate: begun, NextUpdate: begun.Add(24 * time.Hour)})
		})
		pass(90 * time.Minute)
		if status := f.status(); f.staple() != nil || status.State != "revoked" || !strings.Contains(status.Error, "older") {
			t.Errorf("after a response from before: %+v", status)
		}
		responder.become(lasting(a, 2*time.Hour)) // It was on hold.
		if pass(75 * time.Minute); f.staple() == nil {
			t.Errorf("after a newer response: %+v", f.status())
		}
	})
}

// A response without nextUpdate is renewed every half hour and stapled for an hour.
func TestNoNextUpdate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		responder := &changing{answer: func(request *wire.Request) []byte {
			der, err := wire.CreateResponse(a.cert, a.cert, wire.Response{
				SerialNumber: request.SerialNumber, ThisUpdate: time.Now(),
			}, a.key)
			if err != nil {
				t.Error(err)
			}
			return der
		}}
		f := begin(t, ocsp.Options{Transport: network{"ocsp.test": responder}}, a.entry(7, nil, url))
		defer f.stop()
		if pass(0); f.staple() == nil || !f.status().NextUpdate.IsZero() {
			t.Errorf("status %+v", f.status())
		}
		if pass(30 * time.Minute); responder.total() != 2 {
			t.Errorf("%d requests", responder.total())
		}
		responder.become(nil)
		if pass(time.Hour); f.staple() != nil {
			t.Error("stapled for more than an hour")
		}
	})
}

// An unchanged certificate keeps its response when the configuration changes, one that is gone is dropped, and a new
// one is queried at once.
func TestConfigurationChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		responder := &changing{answer: lasting(a, 8*time.Hour)}
		old, other := a.entry(7, nil, url), a.entry(8, nil, url)
		f := begin(t, ocsp.Options{Transport: network{"ocsp.test": responder}}, old)
		defer f.stop()
		pass(0)
		first, fingerprint := f.staple(), f.set.Pair(0).Fingerprint
		// The same leaf with another text, so that it is another Pair.
		rewritten := old
		rewritten.Certificate.CertFile += "\n"
		f.use(rewritten)
		if !bytes.Equal(f.staple(), first) {
			t.Error("the unchanged certificate has no response")
		}
		f.use(rewritten, other)
		if pass(0); responder.total() != 2 {
			t.Errorf("%d requests", responder.total())
		}
		f.use(other)
		if _, known := f.Status(fingerprint); known || f.States()["good"] != 1 {
			t.Errorf("the certificate that is gone is not forgotten: %v", f.States())
		}
		if f.staple() == nil {
			t.Error("the certificate that is left has no response")
		}
		if pass(4 * time.Hour); responder.total() != 3 {
			t.Errorf("%d requests after the renewal", responder.total())
		}
		f.use(old)
		if pass(0); responder.total() != 4 || f.staple() == nil {
			t.Errorf("%d requests after the certificate has come back", responder.total())
		}
	})
}

// Few requests go to one responder at a time, and one that is down gets one at a time and holds up no other.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		up := &changing{answer: lasting(a, 8*time.Hour), delay: 50 * time.Millisecond}
		down := &changing{delay: 9 * time.Second}
		var entries []certificate.Entry
		for i := range int64(200) {
			entries = append(entries, a.entry(100+i, nil, url), a.entry(1000+i, nil, "http://down.test/"))
		}
		f := begin(t, ocsp.Options{Transport: network{"ocsp.test": up, "down.test": down}}, entries...)
		defer f.stop()
		pass(200 / 4 * 50 * time.Millisecond)
		if asked, most := up.requests(); asked != 200 || most != 4 || f.States()["good"] != 200 {
			t.Errorf("%d requests, %d at a time, states %v", asked, most, f.States())
		}
		pass(9 * time.Second)
		down.become(nil)
		pass(10 * time.Minute)
		if asked, most := down.requests(); most != 1 || asked > 4+10*60/9+2 {
			t.Errorf("%d requests to the responder that is down, %d at a time", asked, most)
		}
	})
}

// results receives the results of attempts.
type results chan string

func (r results) Answered(result string) { r <- result }

// The requests go over real sockets.
func TestSockets(t *testing.T) {
	a := newAuthority(t)
	server := httptest.NewServer(from(good)(a))
	defer server.Close()
	counted := make(results, 1)
	f := begin(t, ocsp.Options{Metrics: counted}, a.entry(7, nil, server.URL))
	if result := <-counted; result != "good" {
		t.Errorf("result %q: %+v", result, f.status())
	}
	f.stop()
	if f.staple() == nil {
		t.Errorf("no response: %+v", f.status())
	}
}

// A connection that is not permitted is not made, and the attempt fails.
func TestControl(t *testing.T) {
	a := newAuthority(t)
	var queried atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { queried.Store(true) }))
	defer server.Close()
	counted := make(results, 1)
	f := begin(t, ocsp.Options{Metrics: counted, Control: func(_, address string, _ syscall.RawConn) error {
		return fmt.Errorf("no connection to %s", address)
	}}, a.entry(7, nil, server.URL))
	if result := <-counted; result != "failed" {
		t.Errorf("result %q", result)
	}
	f.stop()
	why := "no connection to " + server.Listener.Addr().String()
	if status := f.status(); queried.Load() || !strings.Contains(status.Error, why) {
		t.Errorf("queried: %t, status %+v", queried.Load(), status)
	}
}
