package externalauth_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/externalauth"
)

// forward returns a handler that sends requests to a server, as a service does.
func forward(t *testing.T, address string, transport *http.Transport) http.Handler {
	t.Helper()
	t.Cleanup(transport.CloseIdleConnections)
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})
	proxy.Transport = transport
	return proxy
}

// guarded serves a backend behind the middleware, and returns its URL and what the backend was asked.
func guarded(t *testing.T, config dynamic.ExternalAuth, service http.Handler) (address string, seen *[]*http.Request) {
	t.Helper()
	config.Service = "authorization"
	auth, err := externalauth.New("auth", config, service)
	if err != nil {
		t.Fatal(err)
	}
	seen = new([]*http.Request)
	backend := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*seen = append(*seen, r)
		_, _ = io.Copy(w, r.Body)
	})
	server := httptest.NewServer(auth.Wrap(backend))
	t.Cleanup(server.Close)
	return server.URL, seen
}

// roundTrip sends a request over a connection of its own.
func roundTrip(t *testing.T, r *http.Request) (*http.Response, error) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(transport.CloseIdleConnections)
	return transport.RoundTrip(r)
}

func send(t *testing.T, method, target, body string, header http.Header) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if header != nil {
		r.Header = header
	}
	answered, err := roundTrip(t, r)
	if err != nil {
		t.Fatal(err)
	}
	defer answered.Body.Close() //nolint:errcheck // It has been read.
	text, err := io.ReadAll(answered.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answered, string(text)
}

func equal[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestHTTP(t *testing.T) {
	authorization := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		equal(t, "path", r.URL.RequestURI(), "/check/a%2Fb?c=d")
		equal(t, "method", r.Method, http.MethodPost)
		equal(t, "Content-Length", r.ContentLength, int64(len(body)))
		equal(t, "X-Shown", r.Header.Get("X-Shown"), "1")
		equal(t, "X-Hidden", r.Header.Get("X-Hidden"), "")
		if r.Header.Get("Authorization") != "good" {
			w.Header().Set("Www-Authenticate", "Test")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, "who are you? "+string(body))
			return
		}
		w.Header().Set("X-User", "alice")
	}))
	t.Cleanup(authorization.Close)
	address, seen := guarded(t, dynamic.ExternalAuth{
		Protocol: "http", Path: "/check", AllowedHeaders: []string{"x-shown"},
		AllowedResponseHeaders: []string{"x-user", "x-group"}, MaxBodySize: 5,
	}, forward(t, authorization.Listener.Addr().String(), &http.Transport{}))
	header := func(authorization string) http.Header {
		return http.Header{
			"X-Shown": {"1"}, "X-Hidden": {"1"}, "Authorization": {authorization}, "X-User": {"forged"},
			"X_user": {"forged"}, "X-Group": {"forged"},
		}
	}
	answered, body := send(t, http.MethodPost, address+"/a%2Fb?c=d", "12345", header("bad"))
	equal(t, "status", answered.StatusCode, http.StatusUnauthorized)
	equal(t, "body", body, "who are you? 12345")
	equal(t, "Www-Authenticate", answered.Header.Get("Www-Authenticate"), "Test")
	answered, _ = send(t, http.MethodPost, address+"/a%2Fb?c=d", "123456", header("good"))
	equal(t, "status", answered.StatusCode, http.StatusRequestEntityTooLarge)
	equal(t, "requests that passed", len(*seen), 0)
	answered, body = send(t, http.MethodPost, address+"/a%2Fb?c=d", "12345", header("good"))
	equal(t, "status", answered.StatusCode, http.StatusOK)
	equal(t, "body", body, "12345")
	if len(*seen) == 1 {
		h := (*seen)[0].Header
		equal(t, "X-User", strings.Join(h["X-User"], ","), "alice")
		equal(t, "X-Group and X_user", len(h["X-Group"])+len(h["X_user"]), 0)
		equal(t, "X-Hidden", h.Get("X-Hidden"), "1")
	}
}

// TestOnly200 has other codes of success refuse.
func TestOnly200(t *testing.T) {
	for _, status := range []int{201, 204, 302, 500} {
		address, seen := guarded(t, dynamic.ExternalAuth{}, http.HandlerFunc(
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answered, err := roundTrip(t, r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answered.Body.Close()
		equal(t, "status", answered.StatusCode, status)
		equal(t, "requests that passed", len(*seen), 0)
	}
}

// TestFailures has answers that can't be used refuse.
func TestFailures(t *testing.T) {
	for name, service := range map[string]http.HandlerFunc{
		"none":   func(http.ResponseWriter, *http.Request) {},
		"broken": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"large": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(make([]byte, 1<<20+1))
		},
		"switched": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusSwitchingProtocols) },
	} {
		for _, protocol := range []string{"http", "grpc"} {
			address, seen := guarded(t, dynamic.ExternalAuth{Protocol: protocol}, service)
			answered, _ := send(t, http.MethodGet, address, "", nil)
			equal(t, name+" "+protocol, answered.StatusCode, http.StatusForbidden)
			equal(t, "requests that passed", len(*seen), 0)
		}
	}
}

// authorizer is a server of the authorization service.
type authorizer struct {
	authv3.UnimplementedAuthorizationServer
	check func(*authv3.CheckRequest) (*authv3.CheckResponse, error)
}

func (a *authorizer) Check(_ context.Context, r *authv3.CheckRequest) (*authv3.CheckResponse, error) {
	return a.check(r)
}

// serveGRPC returns a handler that leads to an authorization server.
func serveGRPC(t *testing.T, check func(*authv3.CheckRequest) (*authv3.CheckResponse, error)) http.Handler {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	authv3.RegisterAuthorizationServer(server, &authorizer{check: check})
	go server.Serve(listener) //nolint:errcheck // It ends with the test.
	t.Cleanup(server.Stop)
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	return forward(t, listener.Addr().String(), &http.Transport{Protocols: protocols})
}

func option(key, value string) *corev3.HeaderValueOption {
	return &corev3.HeaderValueOption{Header: &corev3.HeaderValue{Key: key, Value: value}}
}

func TestGRPC(t *testing.T) {
	service := serveGRPC(t, func(r *authv3.CheckRequest) (*authv3.CheckResponse, error) {
		about := r.GetAttributes().GetRequest().GetHttp()
		equal(t, "path", about.GetPath(), "/a?keep=1&drop=2")
		equal(t, "body", about.GetBody(), "12345")
		equal(t, "source", r.GetAttributes().GetSource().GetAddress().GetSocketAddress().GetAddress(), "127.0.0.1")
		if about.GetHeaders()["x-token"] != "good" {
			return &authv3.CheckResponse{
				Status: &rpcstatus.Status{Code: 7},
				HttpResponse: &authv3.CheckResponse_DeniedResponse{DeniedResponse: &authv3.DeniedHttpResponse{
					Status:  &typev3.HttpStatus{Code: typev3.StatusCode_Unauthorized},
					Headers: []*corev3.HeaderValueOption{option("X-Why", "token")}, Body: "no",
				}},
			}, nil
		}
		return &authv3.CheckResponse{HttpResponse: &authv3.CheckResponse_OkResponse{OkResponse: &authv3.OkHttpResponse{
			Headers: []*corev3.HeaderValueOption{option("x-user", "alice")}, HeadersToRemove: []string{"x-token"},
			ResponseHeadersToAdd:    []*corev3.HeaderValueOption{option("x-answer", "1")},
			QueryParametersToSet:    []*corev3.QueryParameter{{Key: "set", Value: "3 4"}},
			QueryParametersToRemove: []string{"drop"},
		}}}, nil
	})
	address, seen := guarded(t, dynamic.ExternalAuth{Protocol: "grpc", MaxBodySize: 5}, service)
	target := address + "/a?keep=1&drop=2"
	answered, body := send(t, http.MethodPost, target, "12345", http.Header{"X-User": {"forged"}})
	equal(t, "status", answered.StatusCode, http.StatusUnauthorized)
	equal(t, "body", body, "no")
	equal(t, "X-Why", answered.Header.Get("X-Why"), "token")
	equal(t, "requests that passed", len(*seen), 0)
	answered, body = send(t, http.MethodPost, target, "12345",
		http.Header{"X-User": {"forged"}, "X_user": {"forged"}, "X-Token": {"good"}})
	equal(t, "status", answered.StatusCode, http.StatusOK)
	equal(t, "body", body, "12345")
	equal(t, "X-Answer", answered.Header.Get("X-Answer"), "1")
	if len(*seen) == 1 {
		r := (*seen)[0]
		equal(t, "X-User", strings.Join(r.Header["X-User"], ","), "alice")
		equal(t, "X_user and X-Token", len(r.Header["X_user"])+len(r.Header["X-Token"]), 0)
		equal(t, "query", r.URL.RawQuery, "keep=1&set=3+4")
	}
}

// TestGRPCFails has errors of calls, and answers that can't be applied, refuse.
func TestGRPCFails(t *testing.T) {
	for name, given := range map[string]*authv3.CheckResponse{
		"error": nil,
		"header": {HttpResponse: &authv3.CheckResponse_OkResponse{OkResponse: &authv3.OkHttpResponse{
			Headers: []*corev3.HeaderValueOption{option("Content-Length", "0")},
		}}},
		"denied without a response": {Status: &rpcstatus.Status{Code: 7}},
	} {
		address, seen := guarded(t, dynamic.ExternalAuth{Protocol: "grpc"}, serveGRPC(t,
			func(*authv3.CheckRequest) (*authv3.CheckResponse, error) {
				if given == nil {
					return nil, io.ErrUnexpectedEOF
				}
				return given, nil
			}))
		answered, _ := send(t, http.MethodGet, address, "", nil)
		equal(t, name, answered.StatusCode, http.StatusForbidden)
		equal(t, "requests that passed", len(*seen), 0)
	}
}
