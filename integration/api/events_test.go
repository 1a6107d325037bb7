package api

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// simple is a configuration with one router for a host.
func simple(host string) string {
	return `
http:
  routers: {one: {entryPoints: [web], rule: "Host(` + "`" + host + "`" + `)", service: one}}
  services: {one: {loadBalancer: {servers: [{url: "http://${BACKEND}"}]}}}
`
}

// generation is one as the API shows it.
type generation struct {
	Generation, Added, Changed, Removed, More int
	Changes                                   []struct {
		Kind, Name, Provider, Change, Origin string
		Diff                                 []struct {
			Path          string
			Before, After any
		}
	}
	Refused, Recovered []struct{ Kind, Name, Status, Reason string }
}

// fitsEvent compares the data of an event with the document's schema of the same data.
func (d *document) fitsEvent(t *testing.T, from event) {
	t.Helper()
	schema, all := "Generation", []any{}
	switch from.name {
	case "generation":
		all = append(all, read[any](t, from))
	case "providers":
		schema, all = "Provider", read[[]any](t, from)
	case "verdicts":
		schema, all = "Finding", read[struct{ Worse []any }](t, from).Worse
	}
	if len(all) == 0 {
		t.Errorf("event %s is empty: %s", from.name, from.data)
	}
	for _, one := range all {
		if err := d.Components.Schemas[schema].Value.VisitJSON(one); err != nil {
			t.Errorf("event %s: the document says otherwise: %v", from.name, err)
		}
	}
}

// TestAChangeArrives follows a file as it changes, breaks and is mended.
func TestAChangeArrives(t *testing.T) {
	t.Parallel()
	s := start(t, "insecure: true", map[string]string{"one.yaml": simple("before.test")})
	client := management(t, s)
	doc := published(t, client, "")
	l := listen(t, client, "")
	doc.fits(t, "", harness.Response{Response: &http.Response{
		StatusCode: http.StatusOK, Header: l.header, Request: client.Request(http.MethodGet, "/api/events", nil),
	}})
	hello := read[struct {
		Generation int
		Ready      bool
		Version    string
	}](t, l.expect("hello", nil))
	if !hello.Ready || hello.Generation < 1 || hello.Version == "" {
		t.Errorf("hello says %+v", hello)
	}
	providers := l.expect("providers", mentions(`"name":"file","state":"synced"`))
	doc.fitsEvent(t, providers)

	s.Write("one.yaml", simple("after.test"))
	changed := l.expect("generation", mentions("one@file"))
	doc.fitsEvent(t, changed)
	told := read[generation](t, changed)
	if told.Generation <= hello.Generation || changed.id != strconv.Itoa(told.Generation) || told.Changed != 1 ||
		len(told.Changes) != 1 ||
		told.Changes[0].Change != "changed" || !strings.Contains(told.Changes[0].Origin, "one.yaml:3") {
		t.Errorf("event %s: %+v", changed.id, told)
	}
	shown := decode[generation](t, doc.get(t, client, "/api/generations/"+changed.id, http.StatusOK))
	if diff := cmp.Diff("[{rule Host(`before.test`) Host(`after.test`)}]", fmt.Sprint(shown.Changes[0].Diff)); diff != "" {
		t.Errorf("the differences (-want +got):\n%s", diff)
	}

	s.Write("one.yaml", strings.Replace(simple("after.test"), "service: one}", "service: one, middlewares: [missing]}", 1))
	quarantined := l.expect("verdicts", mentions("one@file"))
	doc.fitsEvent(t, quarantined)
	worse := read[struct {
		Worse, Recovered []struct{ Kind, Name, Status, Reason string }
	}](t, quarantined)
	if len(worse.Worse) != 1 || worse.Worse[0].Status != "quarantined" || !strings.Contains(worse.Worse[0].Reason,
		"missing@file") || len(worse.Recovered) != 0 {
		t.Errorf("a refusal is reported as %+v", worse)
	}
	s.Write("one.yaml", simple("after.test"))
	better := read[struct{ Worse, Recovered []struct{ Kind, Name string } }](t,
		l.expect("verdicts", mentions(`"recovered":[{`)))
	if len(better.Worse) != 0 || len(better.Recovered) != 1 || better.Recovered[0].Name != "one@file" {
		t.Errorf("a recovery is reported as %+v", better)
	}
	recorded := doc.get(t, client, "/api/generations", http.StatusOK)
	refused, recovered := 0, 0
	for _, one := range decode[[]generation](t, recorded) {
		refused, recovered = refused+len(one.Refused), recovered+len(one.Recovered)
	}
	if refused != 1 || recovered != 1 {
		t.Errorf("the generations remember %d refusals and %d recoveries:\n%s", refused, recovered, recorded.Text)
	}
}

// TestAListenerComesBack resumes a stream by the number of the last event.
func TestAListenerComesBack(t *testing.T) {
	t.Parallel()
	s := start(t, "insecure: true", map[string]string{"one.yaml": simple("h0.test")})
	client := management(t, s)
	first := listen(t, client, "")
	seen := read[struct{ Generation int }](t, first.expect("hello", nil)).Generation
	first.leave()
	for i := range 4 {
		s.Apply(func() { s.Write("one.yaml", simple(fmt.Sprintf("h%d.test", i+1))) })
	}
	serves := int(s.Readiness().Generation)
	again := listen(t, client, strconv.Itoa(seen+1))
	again.expect("hello", nil)
	for want := seen + 2; want <= serves; want++ {
		if got := harness.Await(t, again.events, "what was missed"); got.name != "generation" ||
			got.id != strconv.Itoa(want) {
			t.Errorf("event %s %s, want generation %d", got.name, got.id, want)
		}
	}
	if got := harness.Await(t, again.events, "the providers"); got.name != "providers" {
		t.Errorf("event %s behind what was missed", got.name)
	}
	s.Write("one.yaml", simple("last.test"))
	if got := again.expect("generation", nil); got.id != strconv.Itoa(serves+1) {
		t.Errorf("the next generation is %s, want %d", got.id, serves+1)
	}
}

// TestDrainEndsStreams sends SIGTERM to a Sluice with listeners, which goes on accepting connections for a while, and
// would give requests under way a minute.
func TestDrainEndsStreams(t *testing.T) {
	t.Parallel()
	const cycle = `{address: "127.0.0.1:0", transport: {lifeCycle: {requestAcceptGraceTimeout: 5s, graceTimeOut: 60s}}}`
	s := harness.Start(t, harness.Setup{
		Static: strings.Replace(static, `traefik: {address: "127.0.0.1:0"}`, "traefik: "+cycle, 1),
		Vars:   map[string]string{"API": "insecure: true"},
	})
	client := management(t, s)
	doc := published(t, client, "")
	var all []*listener
	for range 5 {
		l := listen(t, client, "")
		l.expect("providers", nil)
		all = append(all, l)
	}
	begin := time.Now()
	s.Signal(syscall.SIGTERM)
	for _, l := range all {
		for next := range l.events {
			t.Errorf("the event %s while Sluice drains", next.name)
		}
	}
	// The entrypoint still answers: the streams have not ended with their connections.
	client.Transport.CloseIdleConnections()
	if l, refusal := tryListen(t, client, ""); l != nil || refusal.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a new stream while Sluice drains: %+v", refusal)
	} else {
		doc.fits(t, "", refusal)
	}
	doc.get(t, client, "/api/version", http.StatusOK)
	if code := s.Wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if took := time.Since(begin); took > 18*time.Second {
		t.Errorf("Sluice took %v to end", took)
	}
}

const maxListeners = 64

// TestListenersAreFew opens the maximum number of streams. One of them is not read; it blocks no other, and its place
// is free after a while.
func TestListenersAreFew(t *testing.T) {
	t.Parallel()
	s := start(t, "insecure: true", nil)
	client := management(t, s)
	doc := published(t, client, "")
	const rounds = 45
	for i := range rounds {
		s.Apply(func() { s.Write("wide.yaml", wide(i)) })
	}
	var all []*listener
	for len(all) < maxListeners-1 {
		l := listen(t, client, "")
		l.expect("providers", nil)
		all = append(all, l)
	}
	idle := idleListener(t, s.Addr("traefik")) // The last one: it loses its place ten seconds after it has got behind.
	l, refusal := tryListen(t, client, "")
	if l != nil || refusal.StatusCode != http.StatusServiceUnavailable || refusal.Header.Get("Retry-After") == "" {
		t.Fatalf("one more is answered with %d %v", refusal.StatusCode, refusal.Header)
	}
	doc.fits(t, "", refusal)

	s.Write("wide.yaml", wide(rounds))
	begin := time.Now()
	for _, l := range all {
		if got := read[generation](t, l.expect("generation", nil)); got.Changed < 200 {
			t.Errorf("a listener is notified of %d changes", got.Changed)
		}
	}
	if took := time.Since(begin); took > 8*time.Second {
		t.Errorf("the others got the news after %v", took)
	}
	until(t, "the place of the one who does not read is free", func() bool {
		again, _ := tryListen(t, client, "")
		return again != nil
	})
	all[0].leave()
	until(t, "the place of one who has left is free", func() bool {
		again, _ := tryListen(t, client, "")
		return again != nil
	})
	_ = idle.Close()
}

// wide returns a configuration with so many routers that the news of them fill every buffer on their way soon.
func wide(n int) string {
	var text strings.Builder
	text.WriteString("http:\n  routers:\n")
	for i := range 200 {
		_, _ = fmt.Fprintf(&text, "    %s-%03d: {rule: \"Host(`h%d.test`)\", service: one}\n",
			strings.Repeat("long-name-of-a-router-", 20), i, n)
	}
	return text.String() + "  services: {one: {loadBalancer: {servers: [{url: \"http://127.0.0.1:1\"}]}}}\n"
}

// idleListener requests all stored events, and reads no more than that there are some.
func idleListener(t *testing.T, address string) net.Conn {
	t.Helper()
	dialer := net.Dialer{Control: func(_, _ string, socket syscall.RawConn) error {
		var failed error
		if err := socket.Control(func(descriptor uintptr) {
			failed = syscall.SetsockoptInt(int(descriptor), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096)
		}); err != nil {
			return err
		}
		return failed
	}}
	connection, err := dialer.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	if _, err := fmt.Fprintf(connection, "GET /api/events HTTP/1.1\r\nHost: %s\r\nLast-Event-ID: 0\r\n\r\n",
		address); err != nil {
		t.Fatal(err)
	}
	status := make([]byte, len("HTTP/1.1 200"))
	if _, err := io.ReadFull(connection, status); err != nil || string(status) != "HTTP/1.1 200" {
		t.Fatalf("the one who does not read is answered with %q, %v", status, err)
	}
	return connection
}
