package docker

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// static is what most tests start Sluice with.
const static = `
entryPoints: {web: {address: "127.0.0.1:0"}, traefik: {address: "127.0.0.1:0"}}
ping: {}
api: {insecure: true}
metrics: {prometheus: {}}
log: {level: DEBUG}
providers: {docker: {endpoint: "unix://${SOCKET}"}}
`

// timeout bounds every wait, pause is the polling interval.
const (
	timeout = 2 * time.Minute
	pause   = 2 * time.Millisecond
	// haste is the timeout of one request: a container that is being removed may not answer.
	haste = 5 * time.Second
)

// gate is a Sluice that reads an engine, seen by its clients.
type gate struct {
	*harness.Sluice

	t   testing.TB
	web *harness.Client
}

// on returns the same gate for a subtest, which its failures belong to.
func (g *gate) on(t testing.TB) *gate {
	own := *g
	own.t, own.web = t, g.web.For(t)
	return &own
}

// open starts Sluice on a socket and waits until it is ready. The arguments are added to the static configuration.
func open(t testing.TB, socket string, args ...string) *gate {
	t.Helper()
	s := harness.Start(t, harness.Setup{Static: static, Vars: map[string]string{"SOCKET": socket}, Args: args})
	return &gate{Sluice: s, t: t, web: harness.NewClient(t, harness.H1, s.Addr("web"), "any.test", nil)}
}

// ask returns the status for host/path, and the host name of the container: "200 4c01db0b339c".
func (g *gate) ask(where string) string {
	g.t.Helper()
	host, path, _ := strings.Cut(where, "/")
	ctx, cancel := context.WithTimeout(g.t.Context(), haste)
	defer cancel()
	request := g.web.Request(http.MethodGet, "/"+path, nil).WithContext(ctx)
	request.Host = host
	answer, err := g.web.Try(request)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(strconv.Itoa(answer.StatusCode) + " " + answer.Header.Get("X-Container"))
}

// becomes polls host/path for a result.
func (g *gate) becomes(where, want string) {
	g.t.Helper()
	var got string
	eventually(g.t, where+" is answered by "+strconv.Quote(want), func() bool { got = g.ask(where); return got == want },
		func() string { text := g.Log.String(); return got + "; the log ends\n" + text[max(0, len(text)-4000):] })
}

// answers is the result of a container with this id.
func answers(id string) string { return "200 " + id[:12] }

// reach returns the containers that answer several requests for host/path.
func (g *gate) reach(where string) map[string]bool {
	g.t.Helper()
	out := map[string]bool{}
	for range 30 {
		out[g.ask(where)] = true
	}
	return out
}

// eventually waits until something holds, and fails the test with these words when it does not.
func eventually(t testing.TB, what string, holds func() bool, more ...func() string) {
	t.Helper()
	limit := time.NewTimer(timeout)
	defer limit.Stop()
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for !holds() {
		select {
		case <-ticker.C:
		case <-limit.C:
			for _, one := range more {
				what += ": " + one()
			}
			t.Fatalf("not within %v: %s", timeout, what)
		}
	}
}
