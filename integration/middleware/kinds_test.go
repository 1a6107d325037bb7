package middleware

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// kind is a kind of middleware with options under which it shows that it is there.
type kind struct {
	// name is the key of the kind, options its JSON, which is YAML too.
	name, options string
	// asks are sequential requests, as METHOD PATH and lines of the header; ID is replaced by the place. A request that
	// begins with HOLD is in flight during the others, and the answer to one that begins with SLOW takes a time.
	asks []string
	// shows is a header of the last answer; empty is its body.
	shows string
	// want is the status of the last response and its content.
	want string
}

func kinds() []kind { return append(generalKinds(), nginxKinds()...) }

func generalKinds() []kind {
	return []kind{
		{"addPrefix", `{"prefix": "/added"}`, []string{"GET /x"}, "", "200 GET /added/x"},
		{"stripPrefix", `{"prefixes": ["/other", "/stripped"]}`, []string{"GET /stripped/x"}, "", "200 GET /x"},
		{"stripPrefixRegex", `{"regex": ["/[0-9]+"]}`, []string{"GET /123/x"}, "", "200 GET /x"},
		{"replacePath", `{"path": "/replaced"}`, []string{"GET /x"}, "", "200 GET /replaced"},
		{"replacePathRegex", `{"regex": "^/(.*)/(.*)$", "replacement": "/$2/$1"}`, []string{"GET /a/b"}, "", "200 GET /b/a"},
		{
			"redirectRegex", `{"regex": "/old/(.*)$", "replacement": "/new/$1"}`,
			[]string{"GET /old/x"},
			"Location",
			"302 http://HOST/new/x",
		},
		{
			"redirectScheme", `{"scheme": "https", "permanent": true, "port": "8443"}`,
			[]string{"GET /x"},
			"Location",
			"301 https://HOST:8443/x",
		},
		{"encodedCharacters", `{"allowEncodedSemicolon": true}`, []string{"GET /a%2Fb"}, "", "400 Bad Request"},
		{
			"environment", `{"sources": {"query": "env", "path": "/env/{tag}"}}`,
			[]string{"GET /env/dev/x?a=b&env=dev"},
			"", "200 GET /x?a=b",
		},
		{"headers", `{"customResponseHeaders": {"X-Told": "yes"}}`, []string{"GET /x"}, "X-Told", "200 yes"},
		{"contentType", `{}`, []string{"GET /untyped"}, "Content-Type", "200 text/html; charset=utf-8"},
		{
			"compress", `{"encodings": ["gzip"], "minResponseBodyBytes": 10}`,
			[]string{"GET /compressed\nAccept-Encoding: gzip"},
			"Content-Encoding", "200 gzip",
		},
		{
			"grpcWeb", `{"allowOrigins": ["https://app.test"]}`,
			[]string{"OPTIONS /x\nOrigin: https://app.test\nAccess-Control-Request-Method: " +
				"POST\nAccess-Control-Request-Headers: x-grpc-web"},
			"Access-Control-Allow-Origin", "200 https://app.test",
		},
		{"buffering", `{"maxRequestBodyBytes": 2}`, []string{"POST /x"}, "", "413 Request Entity Too Large"},
		{"bodyLimit", `{"maxRequestBodyBytes": 2}`, []string{"POST /x"}, "", "413 Request Entity Too Large"},
		{"timeout", `{"responseHeader": "50ms"}`, []string{"GET /hang"}, "", "504 Gateway Timeout"},
		{"fault", `{"abort": {"status": 502}}`, []string{"GET /x"}, "", "502 Bad Gateway"},
		{"retry", `{"attempts": 3, "status": ["500"]}`, []string{"GET /once?ID"}, "", "200 GET /once?ID"},
		{
			"circuitBreaker", `{"expression": "ResponseCodeRatio(500, 600, 0, 600) > 0.5"}`,
			[]string{"GET /once?ID", "GET /x"},
			"", "503 Service Unavailable",
		},
		{
			"errors", `{"status": ["500"], "service": "pages@file", "query": "/{status}"}`,
			[]string{"GET /once?ID"},
			"",
			"500 page /500",
		},
		{
			"rateLimit", `{"average": 1, "period": "1h", "burst": 2}`,
			[]string{"GET /x", "GET /x", "GET /x"},
			"",
			"429 Too Many Requests",
		},
		{
			"inFlightReq", `{"amount": 1, "sourceCriterion": {"requestHost": true}}`,
			[]string{"HOLD /hang", "GET /x"},
			"",
			"429 Too Many Requests",
		},
		{
			"adaptiveConcurrency", `{"min": 1, "max": 1, "queueTimeout": 0}`,
			[]string{"HOLD /hang", "GET /x"},
			"",
			"503 Service Unavailable",
		},
		{"chain", `{"middlewares": ["addprefix@file", "headers@file"]}`, []string{"GET /x"}, "X-Told", "200 yes"},
	}
}

// leastTime is the least time of an answer to SLOW.
const leastTime = 400 * time.Millisecond

func nginxKinds() []kind {
	return []kind{
		{
			"regexRewrite", `{"regex": "^/(.*)/(?<last>.*)$", "replacement": "/$last/$1?m=$request_method"}`,
			[]string{"GET /a/b?c"},
			"", "200 GET /b/a?m=GET&c",
		},
		{"ipDenyList", `{"sourceRange": ["127.0.0.0/8", "::1"]}`, []string{"GET /x"}, "", "403 Forbidden"},
		{"satisfyAny", `{"middlewares": ["ipdenylist@file"]}`, []string{"GET /x"}, "", "403 Forbidden"},
		{
			"nginxCORS", `{"allowOrigins": ["https://app.test"]}`,
			[]string{"OPTIONS /x\nOrigin: https://app.test"},
			"Access-Control-Allow-Origin", "204 https://app.test",
		},
		{"authRequest", `{"url": "http://${ENDPOINT}/refused"}`, []string{"GET /x"}, "", "403 Forbidden"},
		{"clientCertificate", `{"caFiles": ["${CA}"]}`, []string{"GET /x"}, "", "400 Bad Request"},
		// 20 of the 30 bytes are sent at once, and the rest takes half a second.
		{
			"bandwidthLimit", `{"bytesPerSecond": 20}`,
			[]string{"SLOW /678901234567890123456789"},
			"", "200 SLOW /678901234567890123456789",
		},
		{
			"proxySetHeader", `{"headers": [{"name": "X-Told", "value": "$request_method $arg_a"}]}`,
			[]string{"GET /told?a=1"},
			"", "200 GET 1",
		},
		{
			"proxyRedirect", `{"rewrites": [{"from": "http://inside.test/", "to": "/$request_method/"}]}`,
			[]string{"GET /moved"},
			"Location", "302 http://HOST/GET/x",
		},
		{
			"proxyCookie",
			`{"domain": [{"from": "inside.test", "to": "$host"}], "path": [{"from": "/in/", "to": "/out/"}]}`,
			[]string{"GET /cookie"},
			"Set-Cookie", "200 a=b; Domain=HOST; Path=/out/x",
		},
	}
}

// proof is an endpoint that the kinds show themselves by.
type proof struct {
	failed chan string
	held   chan struct{}
}

// ServeHTTP answers with method and path, or as the path requests.
func (p proof) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasPrefix(r.URL.Path, "/untyped"):
		w.Header()["Content-Type"] = nil
		_, _ = io.WriteString(w, "<html>")
		return
	case strings.HasPrefix(r.URL.Path, "/refused"):
		w.WriteHeader(http.StatusForbidden)
		return
	case strings.HasPrefix(r.URL.Path, "/told"):
		_, _ = io.WriteString(w, r.Header.Get("X-Told"))
		return
	case strings.HasPrefix(r.URL.Path, "/moved"):
		w.Header().Set("Location", "http://inside.test/x")
		w.WriteHeader(http.StatusFound)
		return
	case strings.HasPrefix(r.URL.Path, "/cookie"):
		w.Header().Set("Set-Cookie", "a=b; Domain=inside.test; Path=/in/x")
	case strings.HasPrefix(r.URL.Path, "/hang"):
		if r.Method == "HOLD" {
			p.held <- struct{}{}
		}
		<-r.Context().Done()
		return
	case strings.HasPrefix(r.URL.Path, "/once") && p.first(r.URL.RawQuery):
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	_, _ = io.Copy(io.Discard, r.Body)
	_, _ = fmt.Fprintf(w, "%s %s", r.Method, r.RequestURI)
}

// first reports whether this is the first request with the query.
func (p proof) first(query string) bool {
	seen := <-p.failed
	p.failed <- seen + query + "\n"
	return !strings.Contains(seen, query+"\n")
}

// show sends the requests of a kind for one place, and returns the result.
func (k kind) show(t *testing.T, client *harness.Client, endpoint proof, host, id string) string {
	t.Helper()
	var answer harness.Response
	for _, ask := range k.asks {
		ask = strings.ReplaceAll(ask, "ID", id)
		lines := bufio.NewScanner(strings.NewReader(ask))
		lines.Scan()
		method, path, _ := strings.Cut(lines.Text(), " ")
		request := client.Request(method, path, nil)
		if method == http.MethodPost {
			request = client.Request(method, path, strings.NewReader("a body"))
		}
		request.Host = host
		for lines.Scan() {
			name, value, _ := strings.Cut(lines.Text(), ": ")
			request.Header.Set(name, value)
		}
		if method == "HOLD" {
			defer hold(t, client, request, endpoint)()
			continue
		}
		began := time.Now()
		answer = client.Send(request)
		if took := time.Since(began); method == "SLOW" && took < leastTime {
			t.Errorf("%s: the answer took %v only", host, took)
		}
	}
	shown := strings.TrimSpace(answer.Text)
	if k.shows != "" {
		shown = answer.Header.Get(k.shows)
	}
	return fmt.Sprintf("%d %s", answer.StatusCode, strings.NewReplacer(id, "ID", host, "HOST").Replace(shown))
}

// hold has a request under way until the function is called that it returns.
func hold(t *testing.T, client *harness.Client, request *http.Request, endpoint proof) (release func()) {
	t.Helper()
	ended := make(chan struct{})
	request, leave := leaving(request)
	go func() {
		defer close(ended)
		_, _ = client.Try(request)
	}()
	harness.Await(t, endpoint.held, "a request is under way")
	return func() {
		leave()
		<-ended
	}
}
