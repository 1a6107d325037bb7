package forwardauth

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/telemetry"
)

// script is what a server does with one connection on which an authentication request has come.
type script func(t *testing.T, c *net.TCPConn)

// scripted starts a server that does so, and returns its URL.
func scripted(t *testing.T, do script) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // It takes no time.
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer func() { _ = c.Close() }()
				do(t, c.(*net.TCPConn))
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		running.Wait()
	})
	return "http://" + listener.Addr().String()
}

// readRequest reads the head of an authentication request.
func readRequest(c net.Conn) {
	reader := bufio.NewReader(c)
	for {
		if line, err := reader.ReadString('\n'); err != nil || line == "\r\n" {
			return
		}
	}
}

// says answers with a text and ends the connection.
func says(text string) script {
	return func(_ *testing.T, c *net.TCPConn) {
		readRequest(c)
		_, _ = io.WriteString(c, text)
	}
}

// saysAndWaits answers with a text and holds the connection until the client ends it.
func saysAndWaits(text string) script {
	return func(_ *testing.T, c *net.TCPConn) {
		readRequest(c)
		_, _ = io.WriteString(c, text)
		_, _ = io.Copy(io.Discard, c)
	}
}

const secret = "s3cret-marked"

// TestFailingServersAdmitNoRequest has servers that fail in every way that there is.
func TestFailingServersAdmitNoRequest(t *testing.T) {
	const broken, silent = "unexpected EOF", "the endpoint closed the connection without a response"
	strange := "malformed response"
	late := "the authentication server did not answer within 200ms"
	for name, test := range map[string]struct {
		do   script
		want string // A part of the reason.
	}{
		"resets": {func(_ *testing.T, c *net.TCPConn) {
			readRequest(c)
			_ = c.SetLinger(0)
		}, "connection reset by peer"},
		"ends the connection":    {says(""), silent},
		"hangs":                  {saysAndWaits(""), late},
		"half a status":          {says("HTTP/1.1 20"), ""},
		"half a head":            {says("HTTP/1.1 200 OK\r\nX-User: " + secret + "\r\nX-Gro"), ""},
		"half a head, and hangs": {saysAndWaits("HTTP/1.1 200 OK\r\nX-User: " + secret + "\r\n"), late},
		"half a body":            {says("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), broken},
		"half a body, and hangs": {saysAndWaits("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), late},
		"half a chunk":           {says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc"), broken},
		"no last chunk": {
			says("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"),
			broken,
		},
		"no last chunk, and hangs": {saysAndWaits("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"), late},
		"a chunk that is none": {saysAndWaits("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + secret +
			"\r\n"), strange},
		"half of a refusal":             {says("HTTP/1.1 403 Forbidden\r\nContent-Length: 10\r\n\r\nabc"), broken},
		"informational only":            {says("HTTP/1.1 103 Early Hints\r\nX-User: " + secret + "\r\n\r\n"), broken},
		"informational only, and hangs": {saysAndWaits("HTTP/1.1 100 Continue\r\n\r\n"), late},
		"informational without end": {saysAndWaits(strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </"+
			strings.Repeat("a", 1000)+">\r\n\r\n", 2000)), "too many informational responses"},
		"switches protocols": {saysAndWaits("HTTP/1.1 101 Switching Protocols\r\nConnection: " +
			"Upgrade\r\nUpgrade: " + secret + "\r\n\r\n"), "101 to a request without Upgrade"},
		"status 600": {
			says("HTTP/1.1 600 " + secret + "\r\nContent-Length: 0\r\n\r\n"),
			"its status is not between 200 and 599",
		},
		"status 099":            {says("HTTP/1.1 099 Low\r\nContent-Length: 0\r\n\r\n"), ""},
		"status of two digits":  {says("HTTP/1.1 20 OK\r\nContent-Length: 0\r\n\r\n"), strange},
		"status with a sign":    {says("HTTP/1.1 +20 OK\r\nContent-Length: 0\r\n\r\n"), ""},
		"speaks something else": {says("SSH-2.0-" + secret + "\r\n"), broken},
		"speaks HTTP/2":         {says("\x00\x00\x00\x04\x00\x00\x00\x00\x00"), ""},
		"a line that is no header": {says("HTTP/1.1 200 OK\r\nSet-Cookie " + secret +
			"\r\nContent-Length: 0\r\n\r\n"), strange},
		"a header with a space": {
			says("HTTP/1.1 200 OK\r\nX-User : " + secret + "\r\nContent-Length: 0\r\n\r\n"),
			"malformed response: space before a colon",
		},
		"a value with NUL": {says("HTTP/1.1 200 OK\r\nX-User: \x00" + secret +
			"\r\nContent-Length: 0\r\n\r\n"), strange},
		"a value with a bare CR": {saysAndWaits("HTTP/1.1 200 OK\r\nX-User: a\rX-Admin: " + secret +
			"\r\nContent-Length: 0\r\n\r\n"), strange},
		"a value with ESC": {saysAndWaits("HTTP/1.1 403 Forbidden\r\nX-Other: \x1b" + secret +
			"\r\nContent-Length: 0\r\n\r\n"), strange},
		"two lengths": {
			says("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 3\r\n\r\nabc"),
			strange,
		},
		"a length that is none": {says("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"), strange},
		"an unknown encoding":   {says("HTTP/1.1 200 OK\r\nTransfer-Encoding: " + secret + "\r\n\r\n"), strange},
		"a head of 2 MiB": {saysAndWaits("HTTP/1.1 200 OK\r\nX-User: " + strings.Repeat(secret,
			2<<20/len(secret)) + "\r\n\r\n"), strange},
		"a head of many lines": {saysAndWaits("HTTP/1.1 200 OK\r\n" + strings.Repeat("X-User: "+secret+"\r\n",
			100000) + "\r\n"), strange},
		"a Location that is none": {saysAndWaits("HTTP/1.1 302 Found\r\nLocation: http://[" + secret +
			"\r\nContent-Length: 0\r\n\r\n"), "its Location is not a URL"},
		"answers once it is too late":      {func(_ *testing.T, c *net.TCPConn) { lateAnswer(c) }, late},
		"sends one byte after the other":   {func(_ *testing.T, c *net.TCPConn) { trickle(c) }, late},
		"answers with TLS, as if by https": {says("\x15\x03\x01\x00\x02\x02\x16"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			step := build(t, dynamic.ForwardAuth{Address: scripted(t, test.do), AuthResponseHeaders: []string{"X-User"}})
			step.server.timeout = 200 * time.Millisecond
			if !strings.Contains(test.want, "within") {
				step.server.timeout = time.Minute
			}
			failed(t, step, test.want)
		})
	}
	t.Run("refuses", func(t *testing.T) {
		failed(t, build(t, dynamic.ForwardAuth{Address: "http://" + http1test.Reserve(t)}), "connection refused")
	})
	t.Run("no such host", func(t *testing.T) {
		step := dialing(t, dynamic.ForwardAuth{Address: "http://auth.invalid"}, func(
			context.Context, string, string,
		) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{
				Err: "no such host", Name: "auth.invalid",
				IsNotFound: true,
			}}
		})
		failed(t, step, "lookup auth.invalid: no such host")
	})
}

// lateAnswer answers after the client's timeout.
func lateAnswer(c net.Conn) {
	readRequest(c)
	_, _ = io.Copy(io.Discard, c)
	_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
}

// trickle never comes to an end.
func trickle(c net.Conn) {
	readRequest(c)
	_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nX-Long: ")
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for range ticker.C {
		if _, err := io.WriteString(c, "a"); err != nil {
			return
		}
	}
}

// failed demands that a request with secrets is refused because the server did not answer, and that no secret is
// disclosed.
func failed(t *testing.T, step *ForwardAuth, reason string) {
	t.Helper()
	o := get(t, step, "Authorization: Bearer "+secret, "Cookie: session="+secret, "X-User: "+secret)
	if o.service != nil || o.Code != http.StatusInternalServerError || o.Body.String() != "Internal Server Error\n" {
		t.Errorf("answers %d %q, passed: %v", o.Code, o.Body, o.service != nil)
	}
	if !strings.Contains(o.record.Reason, reason) || !strings.HasPrefix(o.record.Reason, "middleware auth@file: ") ||
		strings.Contains(o.record.Reason, secret) {
		t.Errorf("the reason is %q, %q is wanted", o.record.Reason, reason)
	}
	for name, values := range o.Header() {
		if strings.Contains(strings.Join(values, " "), secret) {
			t.Errorf("the client gets %s", name)
		}
	}
	if counts := step.Counts(); counts["failed"] != 1 || counts["passed"]+counts["refused"] != 0 {
		t.Errorf("counts %v", counts)
	}
}

// TestEarlyAnswers has servers that answer before they have read the request.
func TestEarlyAnswers(t *testing.T) {
	step := named(t, dynamic.ForwardAuth{ForwardBody: true}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusForbidden)
	})
	for range 20 {
		o := send(t, step, with(t, strings.Repeat("x", 1<<20), "POST /"), nil)
		// Whether the answer arrives before what is written fails is the network's to decide.
		if o.service != nil || o.Code != http.StatusForbidden && o.Code != http.StatusInternalServerError {
			t.Errorf("answers %d, passed: %v", o.Code, o.service != nil)
		}
	}
}

// TestUnaskedAnswers has a server that sends a second, granting response behind that of the request.
func TestUnaskedAnswers(t *testing.T) {
	const no, yes = "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
	step := build(t, dynamic.ForwardAuth{Address: scripted(t, saysAndWaits(no+yes+yes))})
	for range 50 {
		if o := get(t, step); o.service != nil {
			t.Fatal("an unsolicited response lets a request pass")
		}
	}
}

// TestServersOfTLS has servers without a valid certificate.
func TestServersOfTLS(t *testing.T) {
	fine := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	secured := httptest.NewUnstartedServer(fine)
	secured.Config.ErrorLog = log.New(io.Discard, "", 0)
	secured.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	secured.StartTLS()
	defer secured.Close()
	plain := httptest.NewServer(fine)
	defer plain.Close()
	failed(t, build(t, dynamic.ForwardAuth{Address: secured.URL}), "failed to verify certificate")
	failed(t, build(t, dynamic.ForwardAuth{Address: strings.Replace(plain.URL, "http:", "https:", 1)}),
		"first record does not look like a TLS handshake")
	o := get(t, build(t, dynamic.ForwardAuth{Address: strings.Replace(secured.URL, "https:", "http:", 1)}))
	if o.service != nil || o.Code != http.StatusBadRequest { // The server says so itself.
		t.Errorf("answers %d, passed: %v", o.Code, o.service != nil)
	}
}

// TestPatience measures how long a server may think.
func TestPatience(t *testing.T) {
	for name, text := range map[string]string{"nothing": "", "half": "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n"} {
		synctest.Test(t, func(t *testing.T) {
			step := dialing(t, dynamic.ForwardAuth{Address: "http://auth.test"}, func(
				context.Context, string, string,
			) (net.Conn, error) {
				ours, theirs := net.Pipe()
				go func() {
					readRequest(theirs)
					if text != "" {
						_, _ = io.WriteString(theirs, text)
					}
					_, _ = io.Copy(io.Discard, theirs)
				}()
				return ours, nil
			})
			begin := time.Now()
			failed(t, step, "the authentication server did not answer within 30s")
			if took := time.Since(begin); took != 30*time.Second {
				t.Errorf("%s: took %v", name, took)
			}
			step.Close()
			synctest.Wait()
		})
	}
}

// TestTimeOfTheRequest has a request whose own time is shorter than the server's.
func TestTimeOfTheRequest(t *testing.T) {
	step := build(t, dynamic.ForwardAuth{Address: scripted(t, saysAndWaits(""))})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	o := send(t, step, middlewaretest.Request(t, "GET /").WithContext(ctx), nil)
	if o.service != nil || o.Code != http.StatusGatewayTimeout || step.Counts()["failed"] != 1 {
		t.Errorf("answers %d: %s", o.Code, o.record.Reason)
	}
}

// TestClientLeaves has a client that does not wait: the authentication request is called off.
func TestClientLeaves(t *testing.T) {
	asked, calledOff := make(chan struct{}), make(chan struct{})
	step := build(t, dynamic.ForwardAuth{Address: serve(t, func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
		close(calledOff)
	})})
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-asked
		leave()
	}()
	o := send(t, step, middlewaretest.Request(t, "GET /").WithContext(ctx), nil)
	if o.service != nil || o.record.Status != telemetry.StatusClientClosedRequest || o.Body.Len() > 0 {
		t.Errorf("answers %d, records %d: %s", o.Code, o.record.Status, o.record.Reason)
	}
	if counts := step.Counts(); counts["failed"] != 0 {
		t.Errorf("counts %v", counts)
	}
	<-calledOff
}

// TestFailingServersOverTLS has servers that would speak HTTP/2, too, and break off.
func TestFailingServersOverTLS(t *testing.T) {
	for name, test := range map[string]struct {
		do   http.HandlerFunc
		want string
	}{
		"resets": {func(http.ResponseWriter, *http.Request) {
			panic(http.ErrAbortHandler)
		}, "the endpoint closed the connection without a response"},
		"half a body": {func(w http.ResponseWriter, _ *http.Request) { halfABody(w) }, "unexpected EOF"},
		"half a length": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			_, _ = io.WriteString(w, "abc")
		}, "unexpected EOF"},
		"a head of 2 MiB": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-User", strings.Repeat(secret, 2<<20/len(secret)))
		}, "malformed response: header too large"},
		"hangs": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "did not answer within 200ms"},
		"half, and hangs": {func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, "did not answer within 200ms"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(test.do)
			server.EnableHTTP2 = true
			server.StartTLS()
			defer server.Close()
			step := build(t, dynamic.ForwardAuth{
				Address: server.URL, TLS: &dynamic.ClientTLS{InsecureSkipVerify: true},
				AuthResponseHeaders: []string{"X-User"},
			})
			step.server.timeout = time.Minute
			if strings.Contains(test.want, "within") {
				step.server.timeout = 200 * time.Millisecond
			}
			failed(t, step, test.want)
		})
	}
}

// halfABody breaks off behind a status that lets pass.
func halfABody(w http.ResponseWriter) {
	_, _ = io.WriteString(w, "abc")
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}
