package forwardauth

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
)

// pkcs8 returns the key of a certificate as PEM.
func pkcs8(own tls.Certificate) (string, error) {
	der, err := x509.MarshalPKCS8PrivateKey(own.PrivateKey)
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), err
}

// accounts is an authentication server with sessions in cookies, as people run one beside their proxy.
type accounts struct{ *http.ServeMux }

func newAccounts() accounts {
	a := accounts{http.NewServeMux()}
	a.HandleFunc("/verify", a.verify)
	a.HandleFunc("/login", a.login)
	return a
}

// verify admits requests with a session, sends a browser to the login page, and refuses others.
func (a accounts) verify(w http.ResponseWriter, r *http.Request) {
	session, err := r.Cookie("session")
	switch {
	case err == nil && session.Value == "alice":
		w.Header().Set("Remote-User", "alice")
		w.Header()["Remote-Groups"] = []string{"admins", "staff"}
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "alice", Path: "/", MaxAge: 600})
		http.SetCookie(w, &http.Cookie{Name: "internal", Value: "1"})
	case strings.Contains(r.Header.Get("Accept"), "text/html"):
		from := url.URL{
			Scheme: r.Header.Get("X-Forwarded-Proto"), Host: r.Header.Get("X-Forwarded-Host"), Opaque: "",
			Path: r.Header.Get("X-Forwarded-Uri"),
		}
		http.Redirect(w, r, "/login?rd="+url.QueryEscape(from.String()), http.StatusFound)
	default:
		w.Header().Set("Www-Authenticate", `Basic realm="accounts"`)
		http.Error(w, "who are you?", http.StatusUnauthorized)
	}
}

// login gives a session to a client with the password, and redirects it back.
func (a accounts) login(w http.ResponseWriter, r *http.Request) {
	if r.PostFormValue("password") != "open sesame" {
		http.Error(w, "<form method=post>", http.StatusOK)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: "session", Value: "alice", Path: "/"})
	http.Redirect(w, r, r.URL.Query().Get("rd"), http.StatusSeeOther)
}

// front serves a step before a service, over HTTP/1.1 or HTTP/2.
func front(t *testing.T, step *ForwardAuth, h2 bool, service http.HandlerFunc) (*httptest.Server, *http.Client) {
	t.Helper()
	server := httptest.NewUnstartedServer(step.Wrap(service))
	server.EnableHTTP2 = h2
	server.StartTLS()
	t.Cleanup(server.Close)
	client := server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return server, client
}

// do sends a request and returns the answer and its body.
func do(t *testing.T, client *http.Client, method, target string, body io.Reader, headers ...string) (*http.Response,
	string,
) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, target, body)
	if err != nil {
		t.Fatal(err)
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Add(name, value)
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

// TestSignIn is what a user does: is sent to sign in, does so, and comes back.
func TestSignIn(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		server := httptest.NewServer(newAccounts())
		step := build(t, dynamic.ForwardAuth{
			Address: server.URL + "/verify", AuthResponseHeaders: []string{"Remote-User", "Remote-Groups"},
			AddAuthCookiesToResponse: []string{"session"}, HeaderField: "Remote-User",
		})
		edge, client := front(t, step, h2, func(w http.ResponseWriter, r *http.Request) {
			http.SetCookie(w, &http.Cookie{Name: "session", Value: "the service's"})
			http.SetCookie(w, &http.Cookie{Name: "cart", Value: "1"})
			_, _ = io.WriteString(w, strings.Join(r.Header["Remote-User"], "+")+" of "+strings.Join(r.Header["Remote-Groups"],
				"+"))
		})
		client.Jar, _ = cookiejar.New(nil)
		forged := []string{"Remote-User: root", "Remote_user: root", "Remote-Groups: root"}
		if answer, body := do(t, client, http.MethodGet, edge.URL+"/orders", nil,
			forged...); answer.StatusCode != http.StatusUnauthorized || body != "who are you?\n" ||
			answer.Header.Get("Www-Authenticate") == "" {
			t.Errorf("answers %d %q", answer.StatusCode, body)
		}
		answer, _ := do(t, client, http.MethodGet, edge.URL+"/orders", nil, "Accept: text/html")
		login := answer.Header.Get("Location")
		if want := server.URL + "/login?rd=" + url.QueryEscape(edge.URL+"/orders"); answer.StatusCode != http.StatusFound ||
			login != want {
			t.Fatalf("answers %d to %q, %q is wanted", answer.StatusCode, login, want)
		}
		answer, _ = do(t, client, http.MethodPost, login, strings.NewReader("password=open+sesame"),
			"Content-Type: application/x-www-form-urlencoded")
		back := answer.Header.Get("Location")
		answer, body := do(t, client, http.MethodGet, back, nil, append(forged, "Accept: text/html")...)
		if answer.StatusCode != http.StatusOK || body != "alice of admins+staff" {
			t.Errorf("answers %d %q at %q", answer.StatusCode, body, back)
		}
		if got := strings.Join(answer.Header["Set-Cookie"], "|"); got != "cart=1|session=alice; Path=/; Max-Age=600" {
			t.Errorf("sets %s", got)
		}
		server.Close()
	}
}

// TestResponsesStream has a service that flushes, hints and ends with trailers, behind cookies of the authentication
// server.
func TestResponsesStream(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		release := make(chan struct{})
		step := named(t, dynamic.ForwardAuth{AddAuthCookiesToResponse: []string{"s"}}, answering(http.StatusOK, "",
			"Set-Cookie: s=1"))
		edge, client := front(t, step, h2, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Link", "</a>")
			w.WriteHeader(http.StatusEarlyHints)
			w.Header().Set("Trailer", "Grpc-Status")
			_, _ = io.WriteString(w, "first\n")
			w.(http.Flusher).Flush()
			<-release
			w.Header().Set("Grpc-Status", "0")
			w.Header().Set(http.TrailerPrefix+"Grpc-Message", "fine")
		})
		hints := 0
		trace := &httptrace.ClientTrace{Got1xxResponse: func(_ int, header textproto.MIMEHeader) error {
			hints++
			if header.Get("Set-Cookie") != "" {
				t.Error("a hint sets a cookie")
			}
			return nil
		}}
		r, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), http.MethodPost, edge.URL,
			http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body := bufio.NewReader(answer.Body)
		if line, err := body.ReadString('\n'); line != "first\n" || err != nil {
			t.Errorf("%q, %v", line, err)
		}
		close(release)
		_, _ = io.Copy(io.Discard, body)
		_ = answer.Body.Close()
		if answer.Trailer.Get("Grpc-Status") != "0" || answer.Trailer.Get("Grpc-Message") != "fine" ||
			answer.Header.Get("Set-Cookie") != "s=1" || hints != 1 {
			t.Errorf("trailers %v, headers %v, %d hints", answer.Trailer, answer.Header, hints)
		}
	}
}

// TestWebSockets has handshakes, one of which is refused. They are authorized like any other request.
func TestWebSockets(t *testing.T) {
	step := named(t, dynamic.ForwardAuth{AddAuthCookiesToResponse: []string{"s"}, AuthResponseHeaders: []string{"X-User"}},
		func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Upgrade")+r.Header.Get("Connection") != "" || r.Method != http.MethodGet {
				t.Errorf("got %s with %v", r.Method, r.Header)
			}
			w.Header().Set("X-User", "alice")
			http.SetCookie(w, &http.Cookie{Name: "s", Value: "1"})
			if r.Header.Get("Cookie") == "" {
				w.WriteHeader(http.StatusForbidden)
			}
		})
	edge := httptest.NewServer(step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "websocket" || r.Header.Get("X-User") != "alice" {
			t.Errorf("the service gets %v", r.Header)
		}
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "websocket")
		w.WriteHeader(http.StatusSwitchingProtocols)
		c, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = c.Close() }()
		line, _ := rw.ReadString('\n')
		_, _ = rw.WriteString(line)
		_ = rw.Flush()
	})))
	defer edge.Close()
	for _, cookie := range []string{"", "Cookie: a=b\r\n"} {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", edge.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, "GET /socket HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+cookie+
			"\r\n")
		reader := bufio.NewReader(c)
		answer, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if cookie == "" {
			if answer.StatusCode != http.StatusForbidden {
				t.Errorf("answers %d", answer.StatusCode)
			}
		} else {
			_, _ = io.WriteString(c, "hello\n")
			if line, err := reader.ReadString('\n'); answer.StatusCode != http.StatusSwitchingProtocols || line != "hello\n" ||
				answer.Header.Get("Set-Cookie") != "s=1" {
				t.Errorf("answers %d with %v, %q %v", answer.StatusCode, answer.Header, line, err)
			}
		}
		_ = c.Close()
	}
}

// TestRefusedWhileTheBodyIsSent has a client that sends without end and gets an error response.
func TestRefusedWhileTheBodyIsSent(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		handler := named(t, dynamic.ForwardAuth{}, answering(http.StatusForbidden, "no")).Wrap(nil)
		edge := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor == 1 { // Otherwise this server waits for the body before it sends anything.
				_ = http.NewResponseController(w).EnableFullDuplex()
			}
			handler.ServeHTTP(w, r)
		}))
		edge.EnableHTTP2 = h2
		edge.StartTLS()
		reader, writer := io.Pipe()
		ctx, cancel := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, edge.URL, reader)
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.WriteString(writer, "begin") }()
		answer, err := edge.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != http.StatusForbidden {
			t.Errorf("answers %d", answer.StatusCode)
		}
		cancel()
		_ = writer.Close()
		_ = answer.Body.Close()
		edge.Close()
	}
}

// TestAborts has a service whose panic ends the connection.
func TestAborts(t *testing.T) {
	step := named(t, dynamic.ForwardAuth{AddAuthCookiesToResponse: []string{"s"}}, answering(http.StatusOK, "",
		"Set-Cookie: s=1"))
	defer func() {
		if reason := recover(); reason != http.ErrAbortHandler { //nolint:errorlint // It is a value of panic.
			t.Errorf("%v reaches the server", reason)
		}
	}()
	get := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	step.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		panic(http.ErrAbortHandler)
	})).ServeHTTP(httptest.NewRecorder(), get)
}
