package middleware

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// asking has a router whose service is asked over HTTP, one over gRPC, and one whose server is not there.
const asking = `
http:
  routers:
    plain: {rule: "PathPrefix(@/http@)", service: backend, middlewares: [plain]}
    call: {rule: "PathPrefix(@/grpc@)", service: backend, middlewares: [call]}
    absent: {rule: "PathPrefix(@/absent@)", service: backend, middlewares: [absent]}
    unrelated: {rule: "Path(@UNRELATED@)", service: backend}
  middlewares:
    plain: {externalAuth: {service: plain, path: /check, allowedResponseHeaders: [x-user], maxBodySize: 8}}
    call: {externalAuth: {service: call, protocol: grpc, maxBodySize: 8}}
    absent: {externalAuth: {service: absent}}
  services:
    backend: {loadBalancer: {servers: [{url: "http://${BACKEND}"}]}}
    plain: {loadBalancer: {servers: [{url: "http://${PLAIN}"}]}}
    call: {loadBalancer: {servers: [{url: "h2c://${CALL}"}]}}
    absent: {loadBalancer: {servers: [{url: "http://127.0.0.1:1"}]}}
`

// answering returns the configuration with an unrelated route, with middlewares that ask or without any.
func answering(unrelated string, asks bool) string {
	text := strings.NewReplacer("@", "`", "UNRELATED", unrelated).Replace(asking)
	if asks {
		return text
	}
	var kept []string
	for line := range strings.Lines(text) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name != "plain" && name != "call" {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// authority is a server that is asked, and its connections.
type authority struct {
	address string
	// opened and closed count connections.
	opened, closed atomic.Int64
}

// startAuthority starts a server of HTTP/1.1 and HTTP/2, without TLS.
func startAuthority(t *testing.T, handler http.Handler) *authority {
	t.Helper()
	a := new(authority)
	server := httptest.NewUnstartedServer(handler)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			a.opened.Add(1)
		case http.StateClosed:
			a.closed.Add(1)
		case http.StateActive, http.StateIdle, http.StateHijacked:
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	a.address = server.Listener.Addr().String()
	return a
}

// decides grants requests with a token.
type decides struct {
	authv3.UnimplementedAuthorizationServer
}

// Check grants a request whose header x-token is good, and sets headers for the backend that show what it has read.
func (decides) Check(_ context.Context, r *authv3.CheckRequest) (*authv3.CheckResponse, error) {
	about := r.GetAttributes().GetRequest().GetHttp()
	header := func(key, value string) *corev3.HeaderValueOption {
		return &corev3.HeaderValueOption{Header: &corev3.HeaderValue{Key: key, Value: value}}
	}
	if about.GetHeaders()["x-token"] != "good" {
		return &authv3.CheckResponse{
			Status: &rpcstatus.Status{Code: 16},
			HttpResponse: &authv3.CheckResponse_DeniedResponse{DeniedResponse: &authv3.DeniedHttpResponse{
				Status: &typev3.HttpStatus{Code: typev3.StatusCode_Unauthorized}, Body: "no",
				Headers: []*corev3.HeaderValueOption{header("x-why", "token")},
			}},
		}, nil
	}
	return &authv3.CheckResponse{HttpResponse: &authv3.CheckResponse_OkResponse{OkResponse: &authv3.OkHttpResponse{
		Headers: []*corev3.HeaderValueOption{
			header("x-user", "ann"), header("x-asked", about.GetMethod()+" "+about.GetPath()+" "+about.GetBody()),
		},
		HeadersToRemove:      []string{"x-token"},
		ResponseHeadersToAdd: []*corev3.HeaderValueOption{header("x-told", "yes")},
	}}}, nil
}

// startCalls starts a server of ext_authz over gRPC, which refuses calls without "Te: trailers" and a deadline.
func startCalls(t *testing.T) *authority {
	t.Helper()
	server := grpc.NewServer()
	authv3.RegisterAuthorizationServer(server, decides{})
	t.Cleanup(server.Stop)
	return startAuthority(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if te, limit := r.Header.Get("Te"), r.Header.Get("Grpc-Timeout"); te != "trailers" || limit == "" ||
			r.ProtoMajor != 2 {
			t.Errorf("a call over %s with Te %q and Grpc-Timeout %q", r.Proto, te, limit)
		}
		server.ServeHTTP(w, r)
	}))
}

// startPlain starts a server that is asked over HTTP. It sets no header for the backend but the user.
func startPlain(t *testing.T) *authority {
	t.Helper()
	return startAuthority(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Content-Length") != "" && r.ContentLength != int64(len(body)) || len(r.TransferEncoding) > 0 {
			t.Errorf("%d bytes with a length of %d and %q", len(body), r.ContentLength, r.TransferEncoding)
		}
		if len(r.Header["X-Token"])+len(r.Header["X-Forwarded-For"])+len(r.Header["X-User"]) > 0 {
			t.Errorf("the server is shown %q", r.Header)
		}
		if r.Header.Get("Authorization") != "good" {
			w.Header().Set("X-Why", "token")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, "no")
			return
		}
		w.Header().Set("X-User", "ann "+r.Method+" "+r.RequestURI+" "+string(body))
		w.Header().Set("X-Other", "not listed")
	}))
}

// TestExternalAuth asks servers over HTTP and gRPC about requests, through edits of the configuration.
func TestExternalAuth(t *testing.T) {
	t.Parallel()
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, r.RequestURI+"|"+strings.Join(r.Header["X-User"], ",")+"|"+r.Header.Get("X-Asked")+"|"+
			r.Header.Get("X_user")+r.Header.Get("X-Other")+"|"+string(body))
	}))
	t.Cleanup(backend.Close)
	plain, call := startPlain(t), startCalls(t)
	s := harness.Start(t, harness.Setup{
		Static: static, Dynamic: map[string]string{"all.yaml": answering("/unrelated", true)},
		Vars: map[string]string{
			"BACKEND": backend.Listener.Addr().String(), "PLAIN": plain.address, "CALL": call.address,
		},
	})
	client := harness.NewClient(t, harness.H1, s.Addr("web"), "any.test", nil)
	decisions(t, client)
	opened := plain.opened.Load() + call.opened.Load()
	s.Apply(func() { s.Write("all.yaml", answering("/elsewhere", true)) })
	decisions(t, client)
	if now := plain.opened.Load() + call.opened.Load(); now != opened || plain.closed.Load()+call.closed.Load() != 0 {
		t.Errorf("an unrelated edit: %d connections were opened before, and %d after", opened, now)
	}
	s.Apply(func() { s.Write("all.yaml", answering("/elsewhere", false)) })
	until(t, "connections to servers that nothing asks are closed", func() bool {
		return plain.closed.Load() == plain.opened.Load() && call.closed.Load() == call.opened.Load()
	})
}

// decisions sends requests that are granted and refused.
func decisions(t *testing.T, client *harness.Client) {
	t.Helper()
	for _, test := range []struct {
		method, path, token, body string
		status                    int
		want                      string
	}{
		{"GET", "/http/x", "", "", http.StatusUnauthorized, "no"},
		{"GET", "/http/a/../x?y=z", "good", "", http.StatusOK, "/http/x?y=z|ann GET /check/http/x?y=z|||"},
		{
			"POST", "/http/a%2Fb", "good", "12345678", http.StatusOK,
			"/http/a%2Fb|ann POST /check/http/a%2Fb 12345678|||12345678",
		},
		{"POST", "/http/x", "good", "123456789", http.StatusRequestEntityTooLarge, ""},
		{"GET", "/grpc/x", "", "", http.StatusUnauthorized, "no"},
		{"GET", "/grpc/a/../x?y=z", "good", "", http.StatusOK, "/grpc/x?y=z|ann|GET /grpc/x?y=z||"},
		{"POST", "/grpc/x", "good", "12345678", http.StatusOK, "/grpc/x|ann|POST /grpc/x 12345678||12345678"},
		{"POST", "/grpc/x", "good", "123456789", http.StatusRequestEntityTooLarge, ""},
		{"GET", "/absent/x", "good", "", http.StatusForbidden, ""},
	} {
		var body io.Reader
		if test.body != "" {
			body = strings.NewReader(test.body)
		}
		request := client.Request(test.method, test.path, body)
		request.Header = http.Header{
			"Authorization": {test.token}, "X-Token": {test.token}, "X-User": {"mallory"}, "X_user": {"mallory"},
			"Connection": {"X-User"},
		}
		answer := client.Send(request)
		if answer.StatusCode != test.status || test.want != "" && answer.Text != test.want {
			t.Errorf("%s %s: %d %q, want %d %q", test.method, test.path, answer.StatusCode, answer.Text, test.status, test.want)
		}
		if test.status == http.StatusUnauthorized && answer.Header.Get("X-Why") != "token" {
			t.Errorf("%s: the refusal has the header %q", test.path, answer.Header)
		}
		if strings.HasPrefix(test.path, "/grpc") && (answer.Header.Get("X-Told") == "yes") != (test.status == http.StatusOK) {
			t.Errorf("%s: the response has the header %q", test.path, answer.Header)
		}
	}
}
