package protocol

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/sluiceproxy/sluice/integration/harness"
)

const extendedConnect = `
entryPoints:
  websecure: {address: "127.0.0.1:0", http: {tls: {}}, http2: {extendedConnect: true}}
  traefik: {address: "127.0.0.1:0"}
ping: {}
metrics: {prometheus: {}}
providers: {file: {directory: "${DYNAMIC}"}}
`

const chat = `
http:
  routers: {chat: {rule: PathPrefix("/"), service: chat, entryPoints: [websecure]}}
  services: {chat: {loadBalancer: {servers: [{url: "${URL}"}]}}}
tls: {certificates: [{certFile: "${CERT}", keyFile: "${KEY}"}]}
`

// page opens a WebSocket, for which a browser uses the connection of HTTP/2 that it has got the page over, and tells
// the server what has come of it.
const page = `<body><script>
const tell = (what) => fetch("/told", {method: "POST", body: what});
const socket = new WebSocket("wss://" + location.host + "/websocket", "echo");
socket.onopen = () => socket.send("there and back");
socket.onmessage = (message) => {
  socket.onclose = (event) => tell(message.data + ", " + event.wasClean);
  socket.close();
};
socket.onerror = () => tell("failed");
</script></body>`

// TestWebSocketOfBrowser has Chromium open a WebSocket over HTTP/2.
func TestWebSocketOfBrowser(t *testing.T) {
	tool := foreign(t, "chromium", "chromium")
	told := make(chan string, 10)
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, page)
		case "/told":
			text, _ := io.ReadAll(r.Body)
			told <- string(text)
		case "/websocket":
			echoOnce(t, w, r)
		}
	}))
	defer endpoint.Close()
	front := harness.NewAuthority(t).Issue("chat", "chat.test")
	sluice := harness.Start(t, harness.Setup{
		Static: extendedConnect, Dynamic: map[string]string{"all.yaml": chat},
		Vars: map[string]string{"URL": endpoint.URL, "CERT": front.CertFile, "KEY": front.KeyFile},
	})
	host, port, err := net.SplitHostPort(sluice.Addr("websecure"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	browser := exec.CommandContext(ctx, tool, "--headless", "--no-sandbox", "--disable-gpu",
		"--user-data-dir="+t.TempDir(), "--host-resolver-rules=MAP chat.test "+host,
		"--ignore-certificate-errors-spki-list="+keyHash(t, front.CertFile), "https://chat.test:"+port+"/")
	browser.Cancel = func() error { return browser.Process.Signal(syscall.SIGTERM) } // It ends its other processes.
	// Wait waits until all of them have closed the pipe: they write into the folder, which is removed then.
	browser.Stdout, browser.Stderr, browser.WaitDelay = io.Discard, io.Discard, time.Minute
	if err := browser.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cancel()
		_ = browser.Wait() // It ends by the signal.
	}()
	if got := harness.Await(t, told, "what the page tells"); got != "there and back, true" {
		t.Errorf("the page says %q", got)
	}
	// Over HTTP/1.1 the code is 101.
	const series = `traefik_entrypoint_requests_total{` +
		`code="200",entrypoint="websecure",method="GET",protocol="websocket"} 1`
	client := sluice.Management()
	harness.Until(t, series, func() bool {
		return strings.Contains(client.Send(client.Request(http.MethodGet, "/metrics", nil)).Text, series)
	})
}

// echoOnce sends a message back, and waits for the end.
func echoOnce(t *testing.T, w http.ResponseWriter, r *http.Request) {
	t.Helper()
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{Subprotocols: []string{"echo"}})
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.CloseNow() //nolint:errcheck // a test's
	kind, message, err := conn.Read(r.Context())
	if err != nil {
		t.Error(err)
		return
	}
	if err := conn.Write(r.Context(), kind, message); err != nil {
		t.Error(err)
	}
	_, _, _ = conn.Read(r.Context()) // It answers the closing handshake.
}
