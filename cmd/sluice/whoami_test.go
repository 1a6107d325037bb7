package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
)

// startWhoami runs whoami on a free port until the test ends, and returns its address and a way to stop it that waits.
func startWhoami(t *testing.T, name string) (address string, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- runWhoami(ctx, "127.0.0.1:0", name, writer) }()
	line, err := bufio.NewReader(reader).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	stop = func() error {
		cancel()
		err := <-ended
		ended <- err
		return err
	}
	t.Cleanup(func() { _ = stop() })
	return strings.TrimSpace(strings.TrimPrefix(line, "whoami: listening on ")), stop
}

// whoamiClient speaks HTTP/1.1, or HTTP/2 without TLS.
func whoamiClient(t *testing.T, h2c bool) *http.Client {
	t.Helper()
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetHTTP1(!h2c)
	transport.Protocols.SetUnencryptedHTTP2(h2c)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func ask(t *testing.T, client *http.Client, method, url, body string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Probe", "seen")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(text)
}

func TestWhoamiDescribesTheRequest(t *testing.T) {
	address, _ := startWhoami(t, "blue")
	for _, test := range []struct {
		name, proto string
		h2c         bool
	}{{"http/1.1", "HTTP/1.1", false}, {"h2c", "HTTP/2.0", true}} {
		t.Run(test.name, func(t *testing.T) {
			_, text := ask(t, whoamiClient(t, test.h2c), http.MethodGet, "http://"+address+"/some/path?q=1", "")
			for _, want := range []string{
				"Name: blue\n", "Hostname: ", "IP: ", "RemoteAddr: 127.0.0.1:",
				"GET /some/path?q=1 " + test.proto + "\n", "Host: " + address + "\n", "X-Probe: seen\r\n",
			} {
				if !strings.Contains(text, want) {
					t.Errorf("the answer lacks %q:\n%s", want, text)
				}
			}
		})
	}
}

func TestWhoamiAnswersAsJSON(t *testing.T) {
	address, _ := startWhoami(t, "blue")
	response, text := ask(t, whoamiClient(t, false), http.MethodGet, "http://"+address+"/api?x=y", "")
	if got := response.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("content type %q", got)
	}
	var answer struct {
		Name, Method, URL, Host, RemoteAddr string
		IP                                  []string
		Headers                             http.Header
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Name != "blue" || answer.Method != "GET" || answer.URL != "/api?x=y" || answer.Host != address ||
		answer.RemoteAddr == "" || len(answer.IP) == 0 || answer.Headers.Get("X-Probe") != "seen" {
		t.Errorf("the answer is incomplete: %s", text)
	}
}

func TestWhoamiHealthIsSettable(t *testing.T) {
	handler := newWhoamiHandler("", nil)
	steps := []struct {
		method, body string
		status       int
	}{
		{http.MethodGet, "", 200},
		{http.MethodPost, "503\n", 200},
		{http.MethodGet, "", 503},
		{http.MethodPost, "ill", 400},
		{http.MethodPost, "99", 400},
		{http.MethodGet, "", 503},
		{http.MethodPost, "200", 200},
		{http.MethodGet, "", 200},
		{http.MethodDelete, "", 405},
	}
	for i, step := range steps {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), step.method, "/health",
			strings.NewReader(step.body)))
		if recorder.Code != step.status {
			t.Errorf("step %d, %s %q: status %d, want %d", i, step.method, step.body, recorder.Code, step.status)
		}
	}
}

func TestWhoamiData(t *testing.T) {
	handler := newWhoamiHandler("", nil)
	tests := []struct {
		query        string
		status, size int
	}{
		{"", 200, 1},
		{"?size=0", 200, 0},
		{"?size=100", 200, 100},
		{"?size=3&unit=kb", 200, 3 << 10},
		{"?size=1&unit=MB", 200, 1 << 20},
		{"?size=-1", 400, -1},
		{"?size=many", 400, -1},
		{"?size=1&unit=EB", 400, -1},
		{"?size=9000000000&unit=GB", 400, -1},
	}
	for _, test := range tests {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/data"+test.query, nil))
		if recorder.Code != test.status {
			t.Errorf("%q: status %d, want %d", test.query, recorder.Code, test.status)
		}
		if test.size >= 0 && recorder.Body.Len() != test.size {
			t.Errorf("%q: %d bytes, want %d", test.query, recorder.Body.Len(), test.size)
		}
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/bench", nil))
	if recorder.Body.String() != "1" {
		t.Errorf("/bench answers %q", recorder.Body)
	}
}

func TestWhoamiWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := newWhoamiHandler("", nil)
		began := time.Now()
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/?wait=90s", nil))
		if waited := time.Since(began); waited != 90*time.Second || recorder.Code != 200 {
			t.Errorf("waited %s and answered %d", waited, recorder.Code)
		}

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/?wait=90s", nil))
		if waited := time.Since(began); waited != 90*time.Second {
			t.Errorf("a client that has left was waited for: %s", waited)
		}
	})
	recorder := httptest.NewRecorder()
	newWhoamiHandler("", nil).ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet,
		"/?wait=long", nil))
	if recorder.Code != http.StatusBadRequest {
		t.Errorf("an unreadable wait was answered with %d", recorder.Code)
	}
}

func TestWhoamiEchoesUntilItStops(t *testing.T) {
	address, stop := startWhoami(t, "")
	connection, _, err := websocket.Dial(t.Context(), "ws://"+address+"/echo",
		&websocket.DialOptions{HTTPClient: whoamiClient(t, false)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.CloseNow() }()
	if err := connection.Write(t.Context(), websocket.MessageText, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	kind, message, err := connection.Read(t.Context())
	if err != nil || kind != websocket.MessageText || string(message) != "hello" {
		t.Fatalf("echo: %v %q %v", kind, message, err)
	}
	closed := make(chan error, 1)
	go func() {
		_, _, err := connection.Read(t.Context())
		closed <- err
	}()
	if err := stop(); err != nil {
		t.Errorf("stop: %v", err)
	}
	if status := websocket.CloseStatus(<-closed); status != websocket.StatusGoingAway {
		t.Errorf("the WebSocket ended with status %d, want going away", status)
	}
}

func TestWhoamiFinishesARequestBeforeItStops(t *testing.T) {
	address, stop := startWhoami(t, "")
	body, writer := io.Pipe()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/health", body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Expect", "100-continue") // The continue that comes back says that the handler is reading.
	transport := &http.Transport{ExpectContinueTimeout: time.Minute}
	defer transport.CloseIdleConnections()
	answered := make(chan int, 1)
	go func() {
		response, err := transport.RoundTrip(request)
		if err != nil {
			t.Error(err)
			answered <- 0
			return
		}
		_ = response.Body.Close()
		answered <- response.StatusCode
	}()
	if _, err := writer.Write([]byte("2")); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	waitUntilRefused(t, address)
	if _, err := writer.Write([]byte("04")); err != nil {
		t.Fatal(err)
	}
	_ = writer.Close()
	if status := <-answered; status != 200 {
		t.Errorf("the request in progress was answered with %d", status)
	}
	if err := <-stopped; err != nil {
		t.Errorf("stop: %v", err)
	}
}

// waitUntilRefused returns once the address has no listener any more.
func waitUntilRefused(t *testing.T, address string) {
	t.Helper()
	for t.Context().Err() == nil {
		connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
		if err != nil {
			return
		}
		_ = connection.Close()
	}
}

func TestWhoamiSaysWhatItCannotUse(t *testing.T) {
	address, _ := startWhoami(t, "")
	tests := []struct {
		name string
		args []string
		code int
		says string
	}{
		{"port in use", []string{"--name", "x", "--address", address}, 1, "address already in use"},
		{"bad address", []string{"--address=nowhere"}, 1, "missing port"},
		{"unknown flag", []string{"--colour"}, 2, "unknown flag --colour"},
		{"argument", []string{"--name=x", "80"}, 2, `unexpected argument "80"`},
		{"help", []string{"--help"}, 0, "--address ADDRESS"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var stdout, stderr strings.Builder
			if code := run(append([]string{"whoami"}, test.args...), nil, &stdout, &stderr); code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			if !strings.Contains(stderr.String()+stdout.String(), test.says) {
				t.Errorf("the output lacks %q: %s", test.says, stderr.String())
			}
			if test.code == 1 && strings.Count(stderr.String(), "\n") != 1 {
				t.Errorf("more than one line: %s", stderr.String())
			}
		})
	}
}
