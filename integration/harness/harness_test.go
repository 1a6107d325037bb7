package harness

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

const staticText = `
entryPoints:
  web: {address: "127.0.0.1:0"}
  traefik: {address: "127.0.0.1:0"}
ping: {}
providers: {file: {directory: "${DYNAMIC}"}}
`

const dynamicText = `
http:
  routers: {all: {rule: "PathPrefix(` + "`/`" + `)", service: one}}
  services: {one: {loadBalancer: {servers: [{url: "http://${BACKEND}"}]}}}
`

// TestStart sends one request by each protocol that needs no certificate, and checks a change of a file.
func TestStart(t *testing.T) {
	backend := StartBackend(t, "one", NewAuthority(t))
	s := Start(t, Setup{
		Static: staticText, Dynamic: map[string]string{"all.yaml": dynamicText},
		Vars: map[string]string{"BACKEND": backend.H1},
	})
	for _, protocol := range []Protocol{H1, H2C} {
		client := NewClient(t, protocol, s.Addr("web"), "any.test", nil)
		echo := client.Post("/a/b?c=d", "body").Echo(t)
		got := fmt.Sprint(echo.Method, " ", echo.Host, " ", echo.Path, " ", echo.Query, " ", echo.BodyLength, " ",
			echo.Backend)
		if want := "POST any.test /a/b c=d 4 one"; got != want {
			t.Errorf("%s: got %s, want %s", protocol, got, want)
		}
	}
	s.Apply(func() { s.Write("all.yaml", strings.Replace(dynamicText, "PathPrefix(`/`)", "Path(`/only`)", 1)) })
	client := NewClient(t, H1, s.Addr("web"), "any.test", nil)
	if got := client.Get("/a"); got.StatusCode != http.StatusNotFound {
		t.Errorf("after the change: status %d", got.StatusCode)
	}
	if now, peak := s.Memory(); now <= 0 || peak < now {
		t.Errorf("memory: now %d, peak %d", now, peak)
	}
}

func TestRun(t *testing.T) {
	if got := Run(t, t.TempDir(), nil, "version"); got.Code != 0 || !strings.Contains(got.Stdout, "os/arch") {
		t.Errorf("version: %+v", got)
	}
	if got := Run(t, t.TempDir(), nil, "nonsense"); got.Code != 2 || !strings.Contains(got.Stderr, "nonsense") {
		t.Errorf("nonsense: %+v", got)
	}
}

// TestStalls measures until the first call of stop, and returns the same at the second.
func TestStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := Stalls(t)
		synctest.Wait()
		if got := stop(); got != 0 {
			t.Errorf("no time passes, and a goroutine was %v late", got)
		}
		if again := stop(); again != 0 {
			t.Errorf("%v at the second call", again)
		}
	})
	began, stop := time.Now(), Stalls(t)
	timer := time.NewTimer(20 * time.Millisecond)
	<-timer.C
	if got, most := stop(), time.Since(began); got < 0 || got > most {
		t.Errorf("%v, within %v", got, most)
	}
}
