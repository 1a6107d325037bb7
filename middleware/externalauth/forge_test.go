package externalauth_test

import (
	"encoding/binary"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/externalauth"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// read returns the body of a request.
func read(t *testing.T, r *http.Request) string {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	return string(body)
}

// grants returns a service of gRPC that gives one answer.
func grants(t *testing.T, given *authv3.CheckResponse) http.HandlerFunc {
	t.Helper()
	message, err := proto.Marshal(given)
	if err != nil {
		t.Fatal(err)
	}
	framed := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))) //nolint:gosec // It is small.
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "Grpc-Status")
		_, _ = w.Write(append(framed, message...))
		w.Header().Set("Grpc-Status", "0")
	}
}

func ok(granted *authv3.OkHttpResponse) *authv3.CheckResponse {
	return &authv3.CheckResponse{HttpResponse: &authv3.CheckResponse_OkResponse{OkResponse: granted}}
}

func denied(given *authv3.DeniedHttpResponse) *authv3.CheckResponse {
	return &authv3.CheckResponse{
		Status:       &rpcstatus.Status{Code: 16},
		HttpResponse: &authv3.CheckResponse_DeniedResponse{DeniedResponse: given},
	}
}

// TestServiceIsNotMisled has a client send what would frame the request that asks, name its target, or claim to be
// another client.
func TestServiceIsNotMisled(t *testing.T) {
	var got *http.Request
	made := step(t, dynamic.ExternalAuth{Path: "check/", AllowedHeaders: []string{
		"x-shown", "connection", "transfer-encoding", "content-length", "host", "te", "upgrade", "expect",
	}}, func(w http.ResponseWriter, r *http.Request) {
		got = r
		equal(t, "body", read(t, r), "")
		w.WriteHeader(http.StatusOK)
	})
	r := middlewaretest.Request(t, "POST /a%2fb/../c//d?e=f",
		"Host: shop.test", "X-Shown: 1", "X_shown: 2", "X-Hidden: 3", "Authorization: token", "Connection: upgrade, x-shown",
		"Upgrade: websocket", "Te: trailers", "Transfer-Encoding: chunked", "Expect: 100-continue",
		"X-Forwarded-For: 203.0.113.1", "X-Forwarded-Uri: /public", "X-Original-Url: /public")
	want := "/check" + r.URL.RequestURI()
	w, passed := passes(made, r)
	if !passed || got == nil {
		t.Fatalf("refused with %d", w.Code)
	}
	equal(t, "path", got.URL.RequestURI(), want)
	equal(t, "RequestURI", got.RequestURI, want)
	equal(t, "Host", got.Host, "shop.test")
	equal(t, "Content-Length", got.ContentLength, 0)
	equal(t, "transfer codings", len(got.TransferEncoding), 0)
	equal(t, "names", strings.Join(slices.Sorted(maps.Keys(got.Header)), " "), "Authorization X-Forwarded-For X-Shown")
	equal(t, "X-Forwarded-For", len(got.Header["X-Forwarded-For"]), 0)
}

// TestTargets has the service be asked with the path that reaches the backend, whatever it is.
func TestTargets(t *testing.T) {
	for _, test := range []struct{ prefix, line, want string }{
		{"", "GET /a/../b", "/b"},
		{"/x", "GET /a/../b", "/x/b"},
		{"/x", "GET /%2e%2e/b", "/x/b"},
		{"", "GET /a%2Fb", "/a%2Fb"},
		{"/", "GET /a?b=/../c", "/a?b=/../c"},
		{"/x", "GET /", "/x/"},
		{"/x", "OPTIONS *", "/x/"},
	} {
		var asked string
		made := step(t, dynamic.ExternalAuth{Path: test.prefix}, func(w http.ResponseWriter, r *http.Request) {
			asked = r.URL.RequestURI()
			w.WriteHeader(http.StatusOK)
		})
		r := middlewaretest.Request(t, test.line)
		routed := r.URL.RequestURI()
		w := httptest.NewRecorder()
		made.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			equal(t, test.line+": path for the backend", r.URL.RequestURI(), routed)
		})).ServeHTTP(w, r)
		equal(t, test.line+": asked", asked, test.want)
	}
}

// TestOptionsAreChecked has definitions that can't be followed be errors.
func TestOptionsAreChecked(t *testing.T) {
	for _, config := range []dynamic.ExternalAuth{
		{Path: "/../a"},
		{Path: "/a/%2e%2e"},
		{Path: "/a//b"},
		{Protocol: "grpc", Path: "/a"},
		{Protocol: "grpc", AllowedResponseHeaders: []string{"x-user"}},
		{Protocol: "tcp"},
		{MaxBodySize: -1},
		{AllowedHeaders: []string{":path"}},
		{AllowedHeaders: []string{"a\r\nb"}},
		{AllowedResponseHeaders: []string{"host"}},
		{AllowedResponseHeaders: []string{"content_length"}},
	} {
		config.Service = "authorization"
		_, err := externalauth.New("auth", config, http.NotFoundHandler())
		if err == nil || !strings.HasPrefix(err.Error(), "externalAuth.") {
			t.Errorf("%+v: %v", config, err)
		}
	}
	if _, err := externalauth.New("auth", dynamic.ExternalAuth{}, http.NotFoundHandler()); err == nil {
		t.Error("no service is no error")
	}
}

// TestForgedIdentity has clients send headers that the service sets, in any spelling and at any place.
func TestForgedIdentity(t *testing.T) {
	forged := http.Header{
		"X-User": {"mallory"}, "X_user": {"mallory"}, "X-Group": {"admin"}, "X_group": {"admin"}, "X-Free": {"1"},
		"Connection": {"X-User, X-Free"},
	}
	appends := option("x-user", "ann")
	appends.Append = wrapperspb.Bool(true) //nolint:staticcheck // Servers use it.
	absent := option("x-user", "ann")
	absent.AppendAction = corev3.HeaderValueOption_ADD_IF_ABSENT
	present := option("x-user", "ann")
	present.AppendAction = corev3.HeaderValueOption_OVERWRITE_IF_EXISTS
	for _, test := range []struct {
		name    string
		config  dynamic.ExternalAuth
		service http.HandlerFunc
		user    string
		group   int
	}{
		{
			"listed and set",
			dynamic.ExternalAuth{AllowedResponseHeaders: []string{"x-user", "x-group"}},
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-User", "ann")
				w.WriteHeader(http.StatusOK)
			}, "ann", 0,
		},
		{
			"listed and not set",
			dynamic.ExternalAuth{AllowedResponseHeaders: []string{"x-user", "x-group"}},
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }, "", 0,
		},
		{
			"all that is set",
			dynamic.ExternalAuth{},
			func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-User", "ann")
				w.WriteHeader(http.StatusOK)
			}, "ann", 2,
		},
		{
			"gRPC",
			dynamic.ExternalAuth{Protocol: "grpc"},
			grants(t, ok(&authv3.OkHttpResponse{Headers: []*corev3.HeaderValueOption{option("x-user", "ann")}})), "ann", 2,
		},
		{
			"gRPC removes",
			dynamic.ExternalAuth{Protocol: "grpc"},
			grants(t, ok(&authv3.OkHttpResponse{
				Headers:         []*corev3.HeaderValueOption{option("x-user", "ann")},
				HeadersToRemove: []string{"x-group", "x-user", ":path", "host"},
			})), "", 0,
		},
		{
			"gRPC appends, as it says",
			dynamic.ExternalAuth{Protocol: "grpc"},
			grants(t, ok(&authv3.OkHttpResponse{Headers: []*corev3.HeaderValueOption{appends}})), "mallory,ann", 2,
		},
		{
			"gRPC adds if absent",
			dynamic.ExternalAuth{Protocol: "grpc"},
			grants(t, ok(&authv3.OkHttpResponse{Headers: []*corev3.HeaderValueOption{absent}})), "mallory", 2,
		},
		{
			"gRPC overwrites",
			dynamic.ExternalAuth{Protocol: "grpc"},
			grants(t, ok(&authv3.OkHttpResponse{Headers: []*corev3.HeaderValueOption{present}})), "ann", 2,
		},
	} {
		made := step(t, test.config, test.service)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://shop.test/", http.NoBody)
		r.Header, r.Trailer = forged.Clone(), http.Header{"X-User": {"mallory"}, "X_user": {"mallory"}}
		var got http.Header
		made.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			got = r.Header
			equal(t, test.name+": host", r.Host, "shop.test")
			if test.user != "mallory,ann" && test.user != "mallory" {
				equal(t, test.name+": trailers", len(r.Trailer), 0)
			}
		})).ServeHTTP(httptest.NewRecorder(), r)
		equal(t, test.name+": X-User", strings.Join(got["X-User"], ","), test.user)
		equal(t, test.name+": X-Group", len(got["X-Group"])+len(got["X_group"]), test.group)
		equal(t, test.name+": X-Free", got.Get("X-Free"), "1")
		if test.user == "ann" || test.user == "" {
			equal(t, test.name+": X_user", len(got["X_user"]), 0)
			equal(t, test.name+": Connection", strings.Contains(strings.ToLower(got.Get("Connection")), "x-user"), false)
		}
	}
}

// TestAnswersThatFrame has headers of answers with line breaks, or that frame messages, be no decision.
func TestAnswersThatFrame(t *testing.T) {
	for _, bad := range []*corev3.HeaderValueOption{
		option("x-user", "ann\r\nX-Group: admin"), option("x-user", "ann\x00"), option("x-user\r\nx-group", "ann"),
		option("transfer-encoding", "chunked"), option("Content_Length", "1"), option("connection", "close"),
		option("host", "other.test"), option(":path", "/"), option("", "ann"),
		{},
	} {
		for name, given := range map[string]*authv3.CheckResponse{
			"request":  ok(&authv3.OkHttpResponse{Headers: []*corev3.HeaderValueOption{bad}}),
			"response": ok(&authv3.OkHttpResponse{ResponseHeadersToAdd: []*corev3.HeaderValueOption{bad}}),
			"denial":   denied(&authv3.DeniedHttpResponse{Headers: []*corev3.HeaderValueOption{bad}}),
		} {
			w, passed := passes(step(t, dynamic.ExternalAuth{Protocol: "grpc"}, grants(t, given)),
				middlewaretest.Request(t, "GET /"))
			equal(t, name+" "+bad.GetHeader().GetKey()+": status", w.Code, http.StatusForbidden)
			equal(t, name+" "+bad.GetHeader().GetKey()+": passed", passed, false)
			equal(t, name+": headers", len(w.Header()["X-Group"])+len(w.Header()["X-User"]), 0)
		}
	}
}

// TestDenialKeepsCookies has a refusal set several cookies.
func TestDenialKeepsCookies(t *testing.T) {
	twice := option("set-cookie", "b=2")
	twice.Append = wrapperspb.Bool(false) //nolint:staticcheck // Servers use it.
	w, passed := passes(step(t, dynamic.ExternalAuth{Protocol: "grpc"}, grants(t, denied(&authv3.DeniedHttpResponse{
		Headers: []*corev3.HeaderValueOption{option("set-cookie", "a=1"), twice},
	}))), middlewaretest.Request(t, "GET /"))
	equal(t, "passed", passed, false)
	equal(t, "status", w.Code, http.StatusForbidden)
	equal(t, "Set-Cookie", strings.Join(w.Header()["Set-Cookie"], " "), "a=1 b=2")
}

// TestCallsThatFail has answers of gRPC that are not whole, or not one message, refuse.
func TestCallsThatFail(t *testing.T) {
	good, err := proto.Marshal(ok(&authv3.OkHttpResponse{}))
	if err != nil {
		t.Fatal(err)
	}
	framed := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(good))), good...) //nolint:gosec // It is small.
	for name, test := range map[string]struct {
		body   []byte
		code   int
		status string
	}{
		"no status":        {framed, http.StatusOK, ""},
		"another status":   {framed, http.StatusOK, "7"},
		"a status of HTTP": {framed, http.StatusServiceUnavailable, "0"},
		"no message":       {nil, http.StatusOK, "0"},
		"half a message":   {framed[:len(framed)-1], http.StatusOK, "0"},
		"two messages":     {slices.Concat(framed, framed), http.StatusOK, "0"},
		"compressed":       {append([]byte{1}, framed[1:]...), http.StatusOK, "0"},
		"no protobuf":      {[]byte{0, 0, 0, 0, 2, 0xff, 0xff}, http.StatusOK, "0"},
	} {
		w, passed := passes(step(t, dynamic.ExternalAuth{Protocol: "grpc"}, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(test.code)
			_, _ = w.Write(test.body)
			if test.status != "" {
				w.Header().Set(http.TrailerPrefix+"Grpc-Status", test.status)
			}
		}), middlewaretest.Request(t, "GET /"))
		equal(t, name+": status", w.Code, http.StatusForbidden)
		equal(t, name+": passed", passed, false)
	}
}

// TestShownHeaders has gRPC show what allowedHeaders names, or all.
func TestShownHeaders(t *testing.T) {
	for _, allowed := range [][]string{nil, {"x-token"}} {
		shown := map[string]string{}
		made := step(t, dynamic.ExternalAuth{Protocol: "grpc", AllowedHeaders: allowed},
			func(_ http.ResponseWriter, r *http.Request) {
				equal(t, "Te", r.Header.Get("Te"), "trailers")
				equal(t, "path", r.URL.Path, "/envoy.service.auth.v3.Authorization/Check")
				equal(t, "method", r.Method, http.MethodPost)
				message := &authv3.CheckRequest{}
				if err := proto.Unmarshal([]byte(read(t, r))[5:], message); err != nil {
					t.Error(err)
				}
				shown = message.GetAttributes().GetRequest().GetHttp().GetHeaders()
			})
		_, passed := passes(made, middlewaretest.Request(t, "PUT /a?b", "X-Token: 1", "X-Token: 2", "Cookie: a=1",
			"X-Bad: \xff", "Host: shop.test"))
		equal(t, "passed", passed, false)
		equal(t, "x-token", shown["x-token"], "1, 2")
		want := map[string]string{"x-token": "1, 2"}
		if allowed == nil {
			want = map[string]string{
				"x-token": "1, 2", "cookie": "a=1", "x-bad": "!", ":method": "PUT", ":path": "/a?b", ":authority": "shop.test",
				":scheme": "http",
			}
		}
		if !maps.Equal(shown, want) {
			t.Errorf("with %q the service is shown %q, want %q", allowed, shown, want)
		}
	}
}
