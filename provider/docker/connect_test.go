package docker

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/api/types/events"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// deadline is how long a test waits for what must happen.
const deadline = time.Minute

// api serves the part of an engine's API that the provider uses from a fakeEngine.
type api struct {
	engine   *fakeEngine
	version  string
	user     string
	password string
	mu       sync.Mutex
	paths    []string
	filters  []string
	// cut ends the streams that are open.
	cut context.CancelFunc
	ctx context.Context
}

func newAPI(version string) *api {
	a := &api{engine: newFakeEngine(), version: version}
	a.ctx, a.cut = context.WithCancel(context.Background())
	return a
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	user, password, _ := r.BasicAuth()
	w.Header().Set("Api-Version", a.version)
	if user != a.user || password != a.password {
		http.Error(w, `{"message":"who are you"}`, http.StatusUnauthorized)
		return
	}
	path := strings.TrimPrefix(r.URL.Path, "/base")
	if path == "/_ping" {
		return
	}
	path, ours := strings.CutPrefix(path, "/v"+a.version)
	if !ours {
		http.Error(w, `{"message":"client version is wrong"}`, http.StatusBadRequest)
		return
	}
	a.mu.Lock()
	a.paths = append(a.paths, path)
	ctx := a.ctx
	a.mu.Unlock()
	connection := &fakeConnection{a.engine}
	switch id, inspect := strings.CutPrefix(path, "/containers/"); {
	case path == "/events":
		a.events(ctx, w, r)
	case path == "/containers/json":
		listed, _ := connection.list(r.Context())
		_ = json.NewEncoder(w).Encode(listed)
	case inspect:
		found, err := connection.inspect(r.Context(), strings.TrimSuffix(id, "/json"))
		if errors.Is(err, errGone) {
			http.Error(w, `{"message":"no such container"}`, http.StatusNotFound)
			return
		}
		_ = json.NewEncoder(w).Encode(found)
	default:
		http.NotFound(w, r)
	}
}

// events streams the fake engine's events until cut.
func (a *api) events(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.filters = append(a.filters, r.URL.Query().Get("filters"))
	a.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.Context(), cancel)()
	messages, failed := (&fakeConnection{a.engine}).listen(ctx)
	w.Header().Set("Content-Type", "application/json")
	_ = http.NewResponseController(w).Flush()
	for {
		select {
		case event := <-messages:
			_ = json.NewEncoder(w).Encode(event)
			_ = http.NewResponseController(w).Flush()
		case err := <-failed:
			if err != nil {
				return
			}
		}
	}
}

// restart cuts all streams.
func (a *api) restart() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cut()
	a.ctx, a.cut = context.WithCancel(context.Background())
}

// follower runs a provider and passes on its messages.
type follower struct {
	t        *testing.T
	messages chan dynamic.Message
}

func follow(t *testing.T, config static.Docker) *follower {
	t.Helper()
	p, err := New(config, telemetry.Discard{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	f := &follower{t: t, messages: make(chan dynamic.Message)}
	done := make(chan error, 1)
	go func() { done <- p.Provide(ctx, f.messages) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Provide: %v", err)
		}
	})
	return f
}

// until returns the first message that the test is satisfied with.
func (f *follower) until(what string, satisfied func(dynamic.Message) bool) dynamic.Message {
	f.t.Helper()
	timer := time.NewTimer(deadline)
	defer timer.Stop()
	var seen []string
	for {
		select {
		case message := <-f.messages:
			if satisfied(message) {
				return message
			}
			seen = append(seen, fmt.Sprintf("%s: %s", message.State, message.Reason))
		case <-timer.C:
			f.t.Fatalf("no message has come: %s; but %q", what, seen)
		}
	}
}

func (f *follower) untilRouter(name string) {
	f.t.Helper()
	f.until("a router "+name, func(m dynamic.Message) bool {
		return m.Configuration != nil && m.Configuration.HTTP.Routers.Get(name) != nil
	})
}

func defaults(endpoint string) static.Docker {
	var config static.Docker
	config.SetDefaults()
	config.Endpoint = endpoint
	return config
}

// listenUnix serves a handler on a socket of its own.
func listenUnix(t *testing.T, handler http.Handler) (endpoint string) {
	t.Helper()
	directory, err := os.MkdirTemp("", "engine") //nolint:usetesting // The name of a socket must be short.
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	path := filepath.Join(directory, "docker.sock")
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(handler)
	_ = server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return "unix://" + path
}

func TestUnixSocket(t *testing.T) {
	for _, version := range []string{"1.40", "1.41", "1.52"} {
		t.Run(version, func(t *testing.T) {
			engine := newAPI(version)
			t.Cleanup(engine.restart)
			engine.engine.put(fakeContainer("web", "198.51.100.7"))
			f := follow(t, defaults(listenUnix(t, engine)))
			f.untilRouter("web")
			id := engine.engine.start(fakeContainer("late", "198.51.100.8"))
			f.untilRouter("late")
			engine.restart()
			engine.engine.remove(id)
			engine.engine.put(fakeContainer("later", "198.51.100.9"))
			f.until("the resync", func(m dynamic.Message) bool {
				return m.Configuration != nil && m.Configuration.HTTP.Routers.Get("later") != nil &&
					m.Configuration.HTTP.Routers.Get("late") == nil
			})
			if len(engine.filters) == 0 || !strings.Contains(engine.filters[0], "health_status") ||
				!strings.Contains(engine.filters[0], `"type"`) {
				t.Errorf("events are requested with the filters %q", engine.filters)
			}
		})
	}
}

func TestEngineIsTooOld(t *testing.T) {
	f := follow(t, defaults(listenUnix(t, newAPI("1.39"))))
	f.until("the reason", func(m dynamic.Message) bool { return strings.Contains(m.Reason, "1.39") })
}

func TestBasicAuthentication(t *testing.T) {
	engine := newAPI("1.41")
	t.Cleanup(engine.restart)
	engine.user, engine.password = "sluice", "secret"
	engine.engine.put(fakeContainer("web", "198.51.100.7"))
	server := httptest.NewServer(engine)
	t.Cleanup(server.Close)
	for _, endpoint := range []string{server.URL, strings.Replace(server.URL, "http", "tcp", 1), server.URL + "/base"} {
		config := defaults(endpoint)
		config.Username, config.Password = "sluice", "secret"
		follow(t, config).untilRouter("web")
	}
	refused := follow(t, defaults(server.URL))
	message := refused.until("that it is forbidden", func(m dynamic.Message) bool {
		return m.State == dynamic.StateForbidden
	})
	if !strings.Contains(message.Reason, "who are you") {
		t.Errorf("the reason is %q, want what the engine says", message.Reason)
	}
}

func TestTLS(t *testing.T) {
	engine := newAPI("1.41")
	t.Cleanup(engine.restart)
	engine.engine.put(fakeContainer("web", "198.51.100.7"))
	server := httptest.NewTLSServer(engine)
	t.Cleanup(server.Close)
	address := strings.TrimPrefix(server.URL, "https://")
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, []byte(authority), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, options := range []*static.ClientTLS{{CA: authority}, {CA: file}, {InsecureSkipVerify: true}} {
		for _, scheme := range []string{"tcp://", "https://"} {
			config := defaults(scheme + address)
			config.TLS = options
			follow(t, config).untilRouter("web")
		}
	}
	follow(t, defaults("https://"+address)).until("that the certificate is refused", func(m dynamic.Message) bool {
		return strings.Contains(m.Reason, "certificate")
	})
}

func TestNoListener(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.sock")
	message := follow(t, defaults("unix://"+path)).until("the reason", func(m dynamic.Message) bool {
		return m.Reason != ""
	})
	if message.State != dynamic.StateUnchanged || message.Configuration != nil || !strings.Contains(message.Reason, path) {
		t.Errorf("message = %+v, want the reason alone", message)
	}
}

func TestTimeout(t *testing.T) {
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	endpoint := listenUnix(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	config := defaults(endpoint)
	config.HTTPClientTimeout = static.Duration(20 * time.Millisecond)
	follow(t, config).until("that it took too long", func(m dynamic.Message) bool {
		return strings.Contains(m.Reason, "deadline")
	})
}

// TestEventsThatNeverBegin asserts that an engine that answers everything but the request for events is given up.
func TestEventsThatNeverBegin(t *testing.T) {
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	engine := newAPI("1.41")
	endpoint := listenUnix(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/events") {
			engine.ServeHTTP(w, r)
			return
		}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	config := defaults(endpoint)
	config.HTTPClientTimeout = static.Duration(50 * time.Millisecond)
	follow(t, config).until("that no events come", func(m dynamic.Message) bool {
		return strings.Contains(m.Reason, "events:")
	})
}

func TestOptionsThatCannotWork(t *testing.T) {
	tests := map[string]struct {
		change func(*static.Docker)
		want   string
	}{
		"constraints": {func(d *static.Docker) {
			d.Constraints = "Lable(`a`,`b`)"
		}, `providers.docker.constraints: at byte 1: Lable: unknown option, did you mean "Label"?`},
		"rule": {func(d *static.Docker) { d.DefaultRule = "{{" }, "providers.docker.defaultRule: template"},
		"function": {func(d *static.Docker) {
			d.DefaultRule = "{{ normalise .Name }}"
		}, `calls an unknown function, did you mean "normalize"?`},
		"no scheme": {func(d *static.Docker) { d.Endpoint = "/var/run/docker.sock" }, "providers.docker.endpoint: "},
		"scheme":    {func(d *static.Docker) { d.Endpoint = "htp://host:1" }, "did you mean http?"},
		"ssh":       {func(d *static.Docker) { d.Endpoint = "ssh://host" }, "ssh is not supported"},
		"npipe":     {func(d *static.Docker) { d.Endpoint = "npipe:////./pipe/x" }, "npipe is not supported"},
		"user": {func(d *static.Docker) {
			d.Endpoint = "http://a:hidden@host"
		}, "write the user as username and password"},
		"no host":     {func(d *static.Docker) { d.Endpoint = "tcp://:2375" }, "names no host"},
		"password":    {func(d *static.Docker) { d.Password = "hidden" }, "there is no username"},
		"tls on unix": {func(d *static.Docker) { d.TLS = &static.ClientTLS{} }, "has no TLS"},
		"tls on http": {func(d *static.Docker) { d.Endpoint, d.TLS = "http://h", &static.ClientTLS{} }, "has no TLS"},
		"ca": {func(d *static.Docker) {
			d.Endpoint, d.TLS = "tcp://h", &static.ClientTLS{CA: "/none"}
		}, "providers.docker.tls.ca: "},
		"no key": {func(d *static.Docker) {
			d.Endpoint, d.TLS = "tcp://h", &static.ClientTLS{Cert: "-----BEGIN"}
		}, "providers.docker.tls.cert and tls.key belong together, and one is missing"},
		"timeout": {func(d *static.Docker) { d.HTTPClientTimeout = -1 }, "httpClientTimeout: is negative"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			config := defaults("unix:///var/run/docker.sock")
			test.change(&config)
			_, err := New(config, telemetry.Discard{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("New = %v, want %s", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "hidden") {
				t.Errorf("the error %v shows a secret", err)
			}
		})
	}
}

// TestQueueDoesNotBlock adds more events than are taken.
func TestQueueDoesNotBlock(t *testing.T) {
	box := newEventQueue()
	for i := range 10_000 {
		box.put(events.Message{
			Type: events.ContainerEventType, Action: events.ActionStart,
			Actor: events.Actor{ID: fmt.Sprint(i % 100)},
		})
	}
	<-box.ready
	if changes := box.take(); len(changes.containers) != 100 || changes.since.IsZero() {
		t.Errorf("%d containers have changed since %s, want 100", len(changes.containers), changes.since)
	}
}
