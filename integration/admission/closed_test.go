package admission

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// closed uses servers that misbehave, and has definitions that cannot load.
const closed = `
http:
  routers:
    forward-dead: {rule: "Host(@forward-dead.test@)", service: one, middlewares: [forward-dead]}
    forward-hanging: {rule: "Host(@forward-hanging.test@)", service: one, middlewares: [forward-hanging]}
    forward-garbage: {rule: "Host(@forward-garbage.test@)", service: one, middlewares: [forward-garbage]}
    forward-closing: {rule: "Host(@forward-closing.test@)", service: one, middlewares: [forward-closing]}
    token-dead: {rule: "Host(@token-dead.test@)", service: one, middlewares: [token-dead]}
    token-hanging: {rule: "Host(@token-hanging.test@)", service: one, middlewares: [token-hanging]}
    token-garbage: {rule: "Host(@token-garbage.test@)", service: one, middlewares: [token-garbage]}
    token-closing: {rule: "Host(@token-closing.test@)", service: one, middlewares: [token-closing]}
    broken-users: {rule: "Host(@broken-users.test@)", service: one, middlewares: [broken-users]}
    broken-digests: {rule: "Host(@broken-digests.test@)", service: one, middlewares: [broken-digests]}
    broken-address: {rule: "Host(@broken-address.test@)", service: one, middlewares: [broken-address]}
    broken-range: {rule: "Host(@broken-range.test@)", service: one, middlewares: [broken-range]}
    broken-token: {rule: "Host(@broken-token.test@)", service: one, middlewares: [broken-token]}
    broken-option: {rule: "Host(@broken-option.test@)", service: one, middlewares: [broken-option]}
    broken-signing: {rule: "Host(@broken-signing.test@)", service: one, middlewares: [broken-signing]}
    broken-chain: {rule: "Host(@broken-chain.test@)", service: one, middlewares: [broken-chain]}
    behind: {rule: "Host(@broken-service.test@)", service: guarded}
    below: {rule: "PathPrefix(@/@)", priority: 1, service: one}
  middlewares:
    forward-dead: {forwardAuth: {address: "http://${DEAD}/"}}
    forward-hanging: {forwardAuth: {address: "http://${HANGING}/"}}
    forward-garbage: {forwardAuth: {address: "http://${GARBAGE}/"}}
    forward-closing: {forwardAuth: {address: "http://${CLOSING}/"}}
    token-dead: {jwt: {jwksUrl: "http://${DEAD}/"}}
    token-hanging: {jwt: {jwksUrl: "http://${HANGING}/"}}
    token-garbage: {jwt: {jwksUrl: "http://${GARBAGE}/"}}
    token-closing: {jwt: {jwksUrl: "http://${CLOSING}/"}}
    broken-users: {basicAuth: {users: ["ann"]}}
    broken-digests: {digestAuth: {usersFile: /nowhere/digests}}
    broken-address: {forwardAuth: {address: "auth.test"}}
    broken-range: {ipAllowList: {sourceRange: ["10.0.0.0/33"]}}
    broken-token: {jwt: {signingSecret: short}}
    broken-option: {basicAuth: {users: ["BASIC"], remveHeader: true}}
    broken-signing: {environment: {trust: {signed: {key: short}}}}
    broken-chain: {chain: {middlewares: [broken-users]}}
  services:
    one: {loadBalancer: {servers: [{url: "http://${ONE}"}]}}
    guarded: {loadBalancer: {servers: [{url: "http://${ONE}"}]}, middlewares: [broken-users]}
`

// misbehaving starts a server with the given behaviour for every connection, and returns its address.
func misbehaving(t *testing.T, answer func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // It is closed with the test.
	must(t, err)
	var serving sync.WaitGroup
	over := make(chan struct{})
	serving.Go(func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer connection.Close() //nolint:errcheck // The other side decides.
				answer(connection)
			})
			serving.Go(func() { <-over; _ = connection.Close() })
		}
	})
	t.Cleanup(func() { _ = listener.Close(); close(over); serving.Wait() })
	return listener.Addr().String()
}

// slowest requests /ready, which nothing guards, until stop is called, which returns the longest time until an answer.
func slowest(t *testing.T, client *harness.Client) (stop func() time.Duration) {
	t.Helper()
	done, longest := make(chan struct{}), make(chan time.Duration, 1)
	go func() {
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		for worst := time.Duration(0); ; {
			began := time.Now()
			if answer, err := client.Try(client.Request(http.MethodGet, "/ready", nil)); err != nil ||
				answer.StatusCode != http.StatusOK {
				t.Errorf("/ready: %v, %v", answer.Response, err)
			}
			worst = max(worst, time.Since(began))
			select {
			case <-ticker.C:
			case <-done:
				longest <- worst
				return
			}
		}
	}()
	stop = sync.OnceValue(func() time.Duration { close(done); return <-longest })
	t.Cleanup(func() { stop() })
	return stop
}

// TestFailClosed sends requests through guards that cannot decide: each refuses within its time, beyond what an answer
// takes without a guard, and only as far as the machine holds it up.
func TestFailClosed(t *testing.T) {
	t.Parallel()
	one := harness.StartBackend(t, "one", nil)
	s := harness.Start(t, harness.Setup{
		Static: static, Dynamic: map[string]string{"all.yaml": strings.ReplaceAll(backticks(closed), "BASIC",
			basicLine(password))},
		Vars: map[string]string{
			"ONE": one.H1, "DEAD": harness.RefusedAddress(t),
			"HANGING": misbehaving(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }),
			"CLOSING": misbehaving(t, func(c net.Conn) { _, _ = c.Read(make([]byte, 1)) }),
			"GARBAGE": misbehaving(t, func(c net.Conn) {
				_, _ = c.Read(make([]byte, 4096))
				_, _ = io.WriteString(c, "HTTP/1.1 200 Perhaps\r\nContent-Length: -1\r\n\r\nyes")
			}),
		},
	})
	s.Until("the verdicts", func(r harness.Readiness) bool { return r.Quarantined > 13 })
	checked := harness.Run(t, s.Dir, nil, "check", "--configFile="+s.Dir+"/sluice.yaml")
	client := harness.NewClient(t, harness.H1, s.Addr("web"), "any.test", nil)
	stop, stopStalls := slowest(t, s.Management()), harness.Stalls(t)
	var asking sync.WaitGroup
	var late sync.Map // how much later than their time guards have refused, by host
	for host, want := range map[string]struct {
		status int
		within time.Duration
	}{
		"forward-dead": {500, 10 * time.Second}, "forward-hanging": {500, 40 * time.Second}, "forward-garbage": {
			500,
			10 * time.Second,
		},
		"forward-closing": {500, 10 * time.Second}, "token-dead": {503, 10 * time.Second},
		"token-hanging": {503, 15 * time.Second},
		"token-garbage": {503, 10 * time.Second}, "token-closing": {503, 10 * time.Second},
		"broken-users": {503, time.Second}, "broken-digests": {503, time.Second}, "broken-address": {503, time.Second},
		"broken-range": {503, time.Second}, "broken-token": {503, time.Second}, "broken-option": {503, time.Second},
		"broken-signing": {503, time.Second}, "broken-chain": {503, time.Second}, "broken-service": {503, time.Second},
	} {
		if strings.HasPrefix(host, "broken") && !strings.Contains(checked.Stdout, "middleware "+host+"@file: ") &&
			host != "broken-service" && host != "broken-chain" {
			t.Errorf("check says nothing about %s:\n%s", host, checked.Stdout)
		}
		asking.Go(func() {
			request := client.Request(http.MethodGet, "/x", nil)
			request.Host = host + ".test"
			request.Header.Set("Authorization", bearer(signing))
			if host == "broken-option" {
				request.Header.Set("Authorization", basic(password))
			}
			began := time.Now()
			answer, err := client.Try(request)
			took := time.Since(began)
			if err != nil || answer.StatusCode != want.status {
				t.Errorf("%s: %v, %v after %v; %d is wanted within %v", host, answer.Response, err, took, want.status, want.within)
			}
			late.Store(host, took-want.within)
		})
	}
	asking.Wait()
	unguarded, stalled := stop(), stopStalls()
	for host, by := range late.Range {
		if by, _ := by.(time.Duration); by > time.Second+min(4*unguarded, 6*stalled) {
			t.Errorf("%s: refused %v late; an answer without a guard took %v, and the machine stood still for %v", host, by,
				unguarded, stalled)
		}
	}
	if seen := one.Seen(); seen != 0 {
		t.Errorf("%d requests got in", seen)
	}
	if checked.Code != 1 {
		t.Errorf("check ends with %d", checked.Code)
	}
}
