package quickstart

import (
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestQuickstart starts the example, follows the lines that it prints, edits its routes, and stops it with Ctrl-C.
func TestQuickstart(t *testing.T) {
	e := start(t)
	client := client(t)

	if len(e.curls) < 5 {
		t.Errorf("it prints %d curl lines", len(e.curls))
	}
	for _, line := range e.curls {
		for word := range strings.FieldsSeq(line) {
			if strings.HasPrefix(word, "http") {
				if a := get(t, client, word); a.status != http.StatusOK {
					t.Errorf("%s: status %d", line, a.status)
				}
			}
		}
	}
	showsRoutes(t, client)
	followsEdits(t, e, client)

	if code := e.exitCode(t, syscall.SIGINT); code != 130 {
		t.Errorf("exit code %d after Ctrl-C, want 130", code)
	}
	leavesNothing(t)
}

// showsRoutes looks for what each route of the example is there to show.
func showsRoutes(t *testing.T, client *http.Client) {
	t.Helper()
	if a := get(t, client, "http://whoami.localhost:8000/"); a.name() != "blue" {
		t.Errorf("by host: %q answers", a.name())
	}
	if a := get(t, client, "https://whoami.localhost:8443/"); a.name() != "blue" || a.proto != "HTTP/2.0" ||
		!strings.Contains(a.body, "X-Forwarded-Proto: https") {
		t.Errorf("TLS: %s, %s", a.proto, a.body)
	}
	if a := get(t, client, "http://localhost:8000/api/users"); a.name() != "green" || !strings.Contains(a.body,
		"GET /users HTTP/1.1") {
		t.Errorf("by path: %s", a.body)
	}
	seen := map[string]int{}
	for range 8 {
		seen[get(t, client, "http://localhost:8000/split").name()]++
	}
	if seen["blue"] != 6 || seen["amber"] != 2 {
		t.Errorf("the split of eight requests: %v", seen)
	}
	clear(seen)
	for range 6 {
		a := get(t, client, "http://localhost:8000/")
		seen[a.name()]++
		if !strings.Contains(a.body, "X-Greeting: hello from the proxy") || a.header.Get("X-Served-By") != "sluice" {
			t.Fatalf("headers: %v\n%s", a.header, a.body)
		}
	}
	if seen["blue"] != 2 || seen["green"] != 2 || seen["amber"] != 2 {
		t.Errorf("six requests in turn: %v", seen)
	}
}

// followsEdits changes the dynamic file and waits for the change to show.
func followsEdits(t *testing.T, e *example, client *http.Client) {
	t.Helper()
	edit(t, filepath.Join(e.dir, "deploy/examples/quickstart/dynamic/routes.yaml"), "hello from the proxy", "good evening")
	edited := time.Now()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for !strings.Contains(get(t, client, "http://localhost:8000/").body, "X-Greeting: good evening") {
		if time.Since(edited) > timeout {
			t.Fatal("the edit does not show")
		}
		<-ticker.C
	}
}

// leavesNothing demands that every port is free again.
func leavesNothing(t *testing.T) {
	t.Helper()
	for _, port := range ports {
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:"+port)
		if err != nil {
			t.Errorf("something is left: %v", err)
			continue
		}
		_ = listener.Close()
	}
}

// TestQuickstartReportsAPortInUse takes the port of an endpoint, and then that of an entrypoint.
func TestQuickstartReportsAPortInUse(t *testing.T) {
	for _, port := range []string{"9002", "8443"} {
		t.Run(port, func(t *testing.T) {
			e := prepare(t)
			taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:"+port)
			if err != nil {
				t.Fatal(err)
			}
			if err := e.command.Start(); err != nil {
				t.Fatal(err)
			}
			if code := e.exitCode(t, nil); code != 1 {
				t.Errorf("exit code %d, want 1", code)
			}
			_ = taken.Close()
			if said := e.stderr.String(); strings.Count(said, "address already in use") != 1 ||
				!strings.Contains(said, ":"+port) {
				t.Errorf("want one line that names port %s, got:\n%s", port, said)
			}
			leavesNothing(t)
		})
	}
}
