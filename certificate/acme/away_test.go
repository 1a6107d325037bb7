package acme_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"

	"github.com/sluiceproxy/sluice/certificate"
	"github.com/sluiceproxy/sluice/certificate/acme"
	"github.com/sluiceproxy/sluice/certificate/acme/acmetest"
	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/certificate/storage/storagetest"
	"github.com/sluiceproxy/sluice/static"
)

// direct hands requests to a handler without a network, so that the clock of the test counts. It fails while away, and
// loses every request and every response whose number is a multiple of cut, unless that is 0.
type direct struct {
	handler  http.Handler
	away     atomic.Bool
	cut      atomic.Int64
	requests atomic.Int64
	// outside receives requests that are served outside of the bubble, by the clock of the machine, and done a value
	// after each. Where it is nil they are served inside.
	outside chan func()
	done    chan struct{}
	serving sync.Mutex
}

var errAway = errors.New("connection refused")

// RoundTrip implements http.RoundTripper.
func (d *direct) RoundTrip(request *http.Request) (*http.Response, error) {
	number, cut := d.requests.Add(1), d.cut.Load()
	if d.away.Load() || cut > 0 && number%cut == 0 {
		return nil, errAway
	}
	served := request.Clone(request.Context())
	served.RequestURI, served.RemoteAddr = request.URL.RequestURI(), "192.0.2.1:1234"
	served.TLS = &tls.ConnectionState{}
	if served.Body == nil {
		served.Body = http.NoBody
	}
	recorder := httptest.NewRecorder()
	d.serve(recorder, served)
	if cut > 0 && number%cut == 1 {
		return nil, io.ErrUnexpectedEOF
	}
	response := recorder.Result()
	response.Request = request
	return response, nil
}

func (d *direct) serve(w http.ResponseWriter, r *http.Request) {
	if d.outside == nil {
		d.handler.ServeHTTP(w, r)
		return
	}
	d.serving.Lock()
	defer d.serving.Unlock()
	d.outside <- func() { d.handler.ServeHTTP(w, r) }
	<-d.done
}

// newDirect returns Pebble without a network, which finds all names valid.
func newDirect(t *testing.T, life time.Duration) *direct {
	t.Helper()
	t.Setenv("PEBBLE_VA_NOSLEEP", "1")
	t.Setenv("PEBBLE_VA_ALWAYS_VALID", "1")
	t.Setenv("PEBBLE_WFE_NONCEREJECT", "0")
	t.Setenv("PEBBLE_AUTHZREUSE", "0")
	logger, store := stdlog.New(io.Discard, "", 0), db.NewMemoryStore()
	profiles := map[string]ca.Profile{"only": {ValidityPeriod: uint64(life.Seconds())}}
	authority := ca.New(logger, store, "", "ecdsa", 0, 1, profiles)
	front := wfe.New(logger, store, va.New(logger, 80, 443, false, "", store), authority, nil, false, false, 0, 0)
	return &direct{handler: acmetest.Exclusive(front.Handler())}
}

// An authority that is away for a day is asked ever less often, and the operator sees it. When it is back,
// certificates are renewed before they end, in good time, and the authority's window is not needed for it.
func TestAuthorityAwayForADay(t *testing.T) {
	authority := newDirect(t, 6*24*time.Hour)
	synctest.Test(t, func(t *testing.T) {
		manager, stop := authority.order(t, 20)
		pause(time.Minute)
		states(t, manager, map[string]int{"valid": 20})

		// It goes away before the renewals are due, and stays away for a day when they are.
		pause(4*24*time.Hour - time.Hour)
		authority.away.Store(true)
		before := authority.requests.Load()
		pause(24 * time.Hour)
		if asked := authority.requests.Load() - before; asked > 150 {
			t.Errorf("%d requests in a day", asked)
		}
		reasons := fmt.Sprint(manager.Verdicts())
		for _, part := range []string{
			"the certificate for n", "connection refused", "is not renewed, and ends on", "next attempt at",
		} {
			if !strings.Contains(reasons, part) {
				t.Errorf("the verdicts lack %q: %.300s", part, reasons)
			}
		}
		for _, one := range manager.Status()[0].Certificates {
			if !one.NotAfter.After(time.Now()) {
				t.Errorf("%v has ended", one.Names)
			}
		}
		authority.away.Store(false)
		pause(7 * time.Hour)
		states(t, manager, map[string]int{"valid": 20})
		if n := len(manager.Verdicts()); n > 0 {
			t.Errorf("%d verdicts", n)
		}
		stop()
	})
}

// Connections that are cut before and after the authority has seen a request delay certificates, and no more.
func TestCutConnections(t *testing.T) {
	authority := newDirect(t, 90*24*time.Hour)
	synctest.Test(t, func(t *testing.T) {
		manager, stop := authority.order(t, 1)
		pause(time.Minute)
		authority.cut.Store(7)
		manager.Want(namesOf(20), uncovered)
		pause(24 * time.Hour)
		states(t, manager, map[string]int{"valid": 20})
		stop()
	})
}

// An authority whose clock is a quarter of a century ahead has its certificate served, and is not asked for another.
func TestWrongClock(t *testing.T) {
	authority := newDirect(t, 90*24*time.Hour)
	authority.outside, authority.done = make(chan func()), make(chan struct{})
	var outside sync.WaitGroup
	outside.Go(func() {
		for do := range authority.outside {
			do()
			authority.done <- struct{}{}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		manager, stop := authority.order(t, 1)
		pause(time.Hour)
		states(t, manager, map[string]int{"valid": 1})
		before := authority.requests.Load()
		pause(48 * time.Hour)
		states(t, manager, map[string]int{"valid": 1})
		if asked := authority.requests.Load() - before; asked > 20 {
			t.Errorf("%d requests in two days", asked)
		}
		stop()
	})
	close(authority.outside)
	outside.Wait()
}

// order starts a resolver that needs certificates for some names, each for a router of its own.
func (d *direct) order(t *testing.T, names int) (manager *acme.Resolvers, stop func()) {
	t.Helper()
	config := &static.ACME{}
	config.SetDefaults()
	config.CAServer, config.KeyType = "https://ca.example/dir", "EC256"
	config.HTTPChallenge = &static.HTTPChallenge{EntryPoint: "web"}
	memory := storagetest.NewMemory()
	manager = acme.New(acme.Options{
		Resolvers: map[string]*static.ACME{"le": config}, Transport: d,
		Logger: testLogger{t}, Metrics: noMetrics{},
		Open: func(string) (storage.Store, error) { return memory, nil },
	})
	ctx, cancel := context.WithCancel(t.Context())
	ready := make(chan struct{})
	close(ready)
	var tasks sync.WaitGroup
	tasks.Go(func() { manager.Run(ctx) })
	tasks.Go(func() { manager.Lead(ctx, ready) })
	manager.Want(namesOf(names), uncovered)
	return manager, func() { cancel(); tasks.Wait() }
}

// namesOf returns the demands of n routers, each with a name.
func namesOf(n int) []certificate.Demand {
	var demands []certificate.Demand
	for i := range n {
		demands = append(demands, certificate.Demand{
			Router: fmt.Sprintf("r%d@file", i), Resolver: "le", Names: [][]string{{fmt.Sprintf("n%d.example.com", i)}},
		})
	}
	return demands
}

// pause lets time pass in a bubble of synctest.
func pause(d time.Duration) { <-time.NewTimer(d).C }

// states checks how many certificates are in each state.
func states(t *testing.T, manager *acme.Resolvers, want map[string]int) {
	t.Helper()
	got := map[string]int{}
	for _, one := range manager.Status()[0].Certificates {
		got[one.State]++
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("states %v, want %v: %+v", got, want, manager.Status())
	}
}
