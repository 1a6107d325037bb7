package forwardauth

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// answering returns an authentication server that answers so, without a date.
func answering(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["Date"] = nil
		for _, header := range headers {
			name, value, _ := strings.Cut(header, ": ")
			w.Header().Add(name, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// TestAnswers shows what the client gets, and what the service, under every answer and every option that has a part
// in it.
func TestAnswers(t *testing.T) {
	html := "Content-Type: text/html"
	login := answering(http.StatusFound, "go", html, "Location: /login?rd=%2F", "Set-Cookie: csrf=1",
		"Set-Cookie: state=2", "Connection: X-Hop", "X-Hop: 1", "Keep-Alive: 5")
	elsewhere := answering(http.StatusFound, "", html, "Location: https://id.example/login")
	denied := answering(http.StatusUnauthorized, "who are you?", html, "Www-Authenticate: Basic realm=\"a\"",
		"Set-Cookie: csrf=1", "X-User: eve")
	granted := answering(http.StatusNoContent, "", "X-User: alice", "X-Group: a", "X-Group: b",
		"Set-Cookie: session=2; Path=/; SameSite=Lax", "Set-Cookie: other=1")
	welcome := answering(http.StatusOK, "welcome", html)
	get := []string{"GET /a/b", "X-User: mallory"}
	var b strings.Builder
	for _, test := range []struct {
		name    string
		config  dynamic.ForwardAuth
		server  http.HandlerFunc
		request []string
	}{
		{"passes", dynamic.ForwardAuth{}, welcome, get},
		{
			"passes with headers",
			dynamic.ForwardAuth{AuthResponseHeaders: []string{"X-User", "X-Missing", "X-Group"}},
			granted,
			get,
		},
		{"passes with headers by expression", dynamic.ForwardAuth{AuthResponseHeadersRegex: "^X-"}, granted, get},
		{"passes with a cookie", dynamic.ForwardAuth{AddAuthCookiesToResponse: []string{"session"}}, granted, get},
		{
			"passes with cookies that are not listed",
			dynamic.ForwardAuth{AddAuthCookiesToResponse: []string{"theme"}},
			granted,
			get,
		},
		{"passes without cookies", dynamic.ForwardAuth{AddAuthCookiesToResponse: []string{"session", "app"}}, welcome, get},
		{"passes with a name for the log", dynamic.ForwardAuth{HeaderField: "x-user"}, granted, get},
		{"refused", dynamic.ForwardAuth{}, denied, get},
		{"refused, with a name for the log", dynamic.ForwardAuth{HeaderField: "X-User"}, denied, get},
		{"refused, HEAD", dynamic.ForwardAuth{}, denied, []string{"HEAD /"}},
		{"refused, HEAD as HEAD", dynamic.ForwardAuth{PreserveRequestMethod: true}, denied, []string{"HEAD /"}},
		{"sent to the sign-in page", dynamic.ForwardAuth{AuthSigninURL: "https://id.example/start?a=1&b"}, denied, get},
		{"sent to a sign-in page of the same host", dynamic.ForwardAuth{AuthSigninURL: "/start"}, denied, get},
		{"no sign-in page for a redirect", dynamic.ForwardAuth{AuthSigninURL: "https://id.example/start"}, login, get},
		{"redirected", dynamic.ForwardAuth{}, login, get},
		{"redirected, preserveLocationHeader", dynamic.ForwardAuth{PreserveLocationHeader: true}, login, get},
		{"redirected elsewhere", dynamic.ForwardAuth{}, elsewhere, get},
		{"redirected elsewhere, preserveLocationHeader", dynamic.ForwardAuth{PreserveLocationHeader: true}, elsewhere, get},
		{"forbidden", dynamic.ForwardAuth{}, answering(http.StatusForbidden, ""), get},
		{"not modified", dynamic.ForwardAuth{}, answering(http.StatusNotModified, "", "Etag: \"1\""), get},
		{"multiple choices", dynamic.ForwardAuth{}, answering(http.StatusMultipleChoices, ""), get},
		{"the server's own error", dynamic.ForwardAuth{}, answering(http.StatusInternalServerError, "sorry"), get},
		{"the largest status", dynamic.ForwardAuth{}, answering(599, "599"), get},
		{"a challenge for proxies", dynamic.ForwardAuth{}, answering(http.StatusProxyAuthRequired, "",
			"Proxy-Authenticate: Basic"), get},
		{"a Location that is none", dynamic.ForwardAuth{}, answering(http.StatusFound, "", "Location: http://[::1"), get},
		{
			"a Location that is none, preserveLocationHeader",
			dynamic.ForwardAuth{PreserveLocationHeader: true},
			answering(http.StatusFound, "", "Location: %zz"), get,
		},
		{"an answer of the largest size", dynamic.ForwardAuth{MaxResponseBodySize: pointer(int64(12))}, denied, get},
		{"an answer that is too large", dynamic.ForwardAuth{MaxResponseBodySize: pointer(int64(11))}, denied, get},
		{
			"an answer that is too large, and lets pass",
			dynamic.ForwardAuth{MaxResponseBodySize: pointer(int64(6))},
			welcome,
			get,
		},
		{
			"an answer of the largest size that lets pass",
			dynamic.ForwardAuth{MaxResponseBodySize: pointer(int64(7))},
			welcome,
			get,
		},
		{"no body may come, and none comes", dynamic.ForwardAuth{MaxResponseBodySize: pointer(int64(0))}, granted, get},
		{"no body may come, and one comes", dynamic.ForwardAuth{MaxResponseBodySize: pointer(int64(0))}, welcome, get},
	} {
		step := named(t, test.config, test.server)
		o := send(t, step, middlewaretest.Request(t, test.request[0], test.request[1:]...), func(w http.ResponseWriter,
			_ *http.Request,
		) {
			w.Header()["Set-Cookie"] = []string{"app=1; HttpOnly", "session=forged"}
			_, _ = io.WriteString(w, "service")
		})
		fmt.Fprintf(&b, "%s\n    %d\n", test.name, o.Code)
		lines(&b, o.Header())
		fmt.Fprintf(&b, "    body %q\n    log %q user %q counts %v\n", o.Body, o.record.Reason, o.record.Username,
			step.Counts())
		if o.service != nil {
			b.WriteString("  and the service gets\n")
			lines(&b, o.service.Header)
		}
		b.WriteString("\n")
		if (o.service != nil) != (step.Counts()["passed"] == 1) {
			t.Errorf("%s: counts %v", test.name, step.Counts())
		}
	}
	golden(t, "answers.golden", b.String())
}

// TestOnly2xxPasses tries every status that a server can send.
func TestOnly2xxPasses(t *testing.T) {
	statuses := make(chan int, 1)
	step := named(t, dynamic.ForwardAuth{}, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(<-statuses) })
	for status := 200; status <= 999; status++ {
		statuses <- status
		o := get(t, step)
		want := status
		if status > 599 {
			want = http.StatusInternalServerError
		}
		if passes := status < 300; (o.service != nil) != passes || !passes && o.Code != want {
			t.Errorf("status %d: %d, passed %v", status, o.Code, o.service != nil)
		}
	}
}

// TestRedirectsAreNotFollowed has a server that would admit requests to another address.
func TestRedirectsAreNotFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		var asked atomic.Int64
		step := named(t, dynamic.ForwardAuth{}, func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			if r.URL.Path == "/check" {
				http.Redirect(w, r, "/fine", status)
			}
		})
		if o := get(t, step); o.service != nil || o.Code != status || asked.Load() != 1 ||
			o.Header().Get("Location") != "http://auth.test/fine" {
			t.Errorf("%d: answers %d to %s after %d requests", status, o.Code, o.Header().Get("Location"), asked.Load())
		}
	}
}

// TestLongAnswers has answers without a limit that are larger than what is kept of them.
func TestLongAnswers(t *testing.T) {
	for _, size := range []int{0, 1, wholeBytes - 1, wholeBytes, wholeBytes + 1, 3 * wholeBytes} {
		for _, chunked := range []bool{false, true} {
			text := strings.Repeat("x", size)
			step := named(t, dynamic.ForwardAuth{}, func(w http.ResponseWriter, _ *http.Request) {
				if !chunked {
					w.Header().Set("Content-Length", fmt.Sprint(size))
				}
				w.WriteHeader(http.StatusForbidden)
				_ = http.NewResponseController(w).Flush()
				_, _ = io.WriteString(w, text)
			})
			o := get(t, step)
			want := fmt.Sprint(size)
			if chunked && size > wholeBytes {
				want = ""
			}
			if o.Code != http.StatusForbidden || o.Body.String() != text || o.Header().Get("Content-Length") != want {
				t.Errorf("%d: answers %d with %d bytes, announces %q", size, o.Code, o.Body.Len(), o.Header().Get("Content-Length"))
			}
		}
	}
}

// TestHalfOfALongAnswer has a server that dies behind what has been sent on already: the client must not take it for
// the whole.
func TestHalfOfALongAnswer(t *testing.T) {
	step := named(t, dynamic.ForwardAuth{}, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, strings.Repeat("x", 2*wholeBytes))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	front := httptest.NewServer(step.Wrap(nil))
	defer front.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, front.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := front.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if body, err := io.ReadAll(answer.Body); err == nil {
		t.Errorf("the client takes %d bytes for the whole", len(body))
	}
}

// TestAnswersLeaveHeadersOfOthers has a response to which an earlier middleware has added.
func TestAnswersLeaveHeadersOfOthers(t *testing.T) {
	step := named(t, dynamic.ForwardAuth{}, answering(http.StatusForbidden, "", "Set-Cookie: theirs=1",
		"Content-Type: text/plain"))
	w := httptest.NewRecorder()
	w.Header().Set("Set-Cookie", "ours=1")
	step.Wrap(nil).ServeHTTP(w, middlewaretest.Request(t, "GET /"))
	if diff := cmp.Diff([]string{"ours=1", "theirs=1"}, w.Header()["Set-Cookie"]); diff != "" {
		t.Error(diff)
	}
}

// FuzzLocation has redirects to anywhere. What a client gets is the server's word, or absolute and never with the
// password of the address.
func FuzzLocation(f *testing.F) {
	for _, seed := range []string{
		"", "/a", "a", "../b", "//host/x", "https://h/?q#f", "?q", "#f", "http://[::1", "%zz",
		"javascript:x", "http://u:p@h/", "é", " /a", "http:///x",
	} {
		f.Add(seed)
	}
	step := build(f, dynamic.ForwardAuth{Address: "https://sluice:s3cret@auth.test/a/check?x=1#f"})
	f.Fuzz(func(t *testing.T, given string) {
		got, err := step.settings.location(given)
		kept := *step.settings
		kept.keepLocation = true
		same, keptErr := kept.location(given)
		if (err == nil) != (keptErr == nil) || keptErr == nil && same != given {
			t.Fatalf("%q: %q, %v, and as it is %q, %v", given, got, err, same, keptErr)
		}
		if err != nil || given == "" {
			if got != "" {
				t.Fatalf("%q: %q", given, got)
			}
			return
		}
		parsed, err := url.Parse(got) // What it can't read it has made itself of a host like "0::0".
		if err == nil && parsed.Scheme == "" || strings.Contains(got, "s3cret") && !strings.Contains(given, "s3cret") {
			t.Fatalf("%q becomes %q", given, got)
		}
		for i := range len(got) {
			if got[i] < ' ' || got[i] == 0x7f {
				t.Fatalf("%q becomes %q", given, got)
			}
		}
	})
}
