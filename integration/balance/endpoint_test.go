package balance

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// endpointVariable holds the name, the address and the page of an endpoint, and makes the test binary that endpoint.
const endpointVariable = "BALANCE_ENDPOINT"

// program is an endpoint, in its own process.
type program struct {
	*page

	name string
}

// runEndpoint serves until standard input ends.
func runEndpoint(setting string) error {
	parts := strings.SplitN(setting, " ", 3)
	if len(parts) != 3 {
		return fmt.Errorf("%s=%s: want a name, an address and a page", endpointVariable, setting)
	}
	shared, _, err := mapPage(parts[2])
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", parts[1]) //nolint:noctx // It is closed with the process.
	if err != nil {
		return err
	}
	p := &program{page: shared, name: parts[0]}
	p.busy.Store(0)
	p.held.Store(0)
	p.open.Store(0)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Handler: p, Protocols: protocols, ConnState: p.connection, ErrorLog: log.New(io.Discard, "", 0)}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // Its end is the end of the test.
		_ = server.Close()
	}()
	p.port.Store(int64(listener.Addr().(*net.TCPAddr).Port))
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (p *program) connection(_ net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		p.opened.Add(1)
		p.open.Add(1)
	case http.StateClosed, http.StateHijacked:
		p.open.Add(-1)
	case http.StateActive, http.StateIdle:
	}
}

// ServeHTTP answers checks under /health, echoes under /websocket, sends events under /events, and otherwise follows
// the shared page. The header X-Endpoint identifies the endpoint, X-Number the request.
func (p *program) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Endpoint", p.name)
	if r.URL.Path == "/health" {
		p.probes.Add(1)
		w.WriteHeader(statusOr200(p.health.Load()))
		return
	}
	w.Header().Set("X-Number", strconv.FormatInt(p.arrived.Add(1), 10))
	most(&p.peak, p.busy.Add(1))
	defer p.busy.Add(-1)
	switch r.URL.Path {
	case "/websocket":
		echo(w, r)
		return
	case "/events":
		events(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	switch p.mode.Load() {
	case hangs:
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case breaks:
		panic(http.ErrAbortHandler)
	case holds:
		p.hold(r)
	default:
		wait(r, time.Duration(p.delay.Load()))
	}
	w.WriteHeader(statusOr200(p.status.Load()))
	_, _ = fmt.Fprintf(w, "%s %s %s", r.Method, r.URL.Path, body)
}

func statusOr200(status int64) int {
	if status == 0 {
		return http.StatusOK
	}
	return int(status)
}

// wait returns after a time, or when the client has left.
func wait(r *http.Request, long time.Duration) {
	if long <= 0 {
		return
	}
	timer := time.NewTimer(long)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
}

// hold returns when the test has released as many requests as came before this one, and this one.
func (p *program) hold(r *http.Request) {
	number := p.held.Add(1)
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for p.released.Load() < number {
		select {
		case <-ticker.C:
		case <-r.Context().Done():
			return
		}
	}
}

// events sends an event again and again until the client leaves.
func events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		if _, err := io.WriteString(w, "data: event\n\n"); err != nil || control.Flush() != nil {
			return
		}
		select {
		case <-ticker.C:
		case <-r.Context().Done():
			return
		}
	}
}

// echo sends every message of a WebSocket back.
func echo(w http.ResponseWriter, r *http.Request) {
	connection, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		Subprotocols:       []string{"echo"},
		InsecureSkipVerify: true,
	})
	if err != nil {
		return // Accept has answered.
	}
	defer connection.CloseNow() //nolint:errcheck // It is closed one way or the other.
	for {
		kind, message, err := connection.Read(r.Context())
		if err != nil || connection.Write(r.Context(), kind, message) != nil {
			return
		}
	}
}
