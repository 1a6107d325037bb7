package contenttype

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
)

// exchanged serves one request over HTTP/1.1 or HTTP/2, by a server that guesses no type, and hands the response to
// check.
func exchanged(t *testing.T, h2 bool, handler http.HandlerFunc, check func(*http.Response)) {
	t.Helper()
	step := build(t, dynamic.ContentType{}).Wrap(handler)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = nil
		step.ServeHTTP(w, r)
	}))
	server.EnableHTTP2 = h2
	server.StartTLS()
	defer server.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	check(answer)
}

// TestTrailersStayTrailers has headers that are set behind the head, with a body and without: they must not slip into
// the head that waits.
func TestTrailersStayTrailers(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		for _, body := range []string{"", "<html>"} {
			exchanged(t, h2, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Trailer", "X-Sum")
				w.WriteHeader(http.StatusOK)
				w.Header().Set("X-Sum", "1")
				w.Header().Set("X-Late", "too late")
				_, _ = io.WriteString(w, body)
				w.Header().Set(http.TrailerPrefix+"X-More", "2")
				if body == "" {
					_ = http.NewResponseController(w).Flush()
				}
			}, func(answer *http.Response) {
				got, err := io.ReadAll(answer.Body)
				if string(got) != body || err != nil {
					t.Errorf("body %q, %v", got, err)
				}
				if diff := cmp.Diff(http.Header{"X-Sum": {"1"}, "X-More": {"2"}}, answer.Trailer); diff != "" {
					t.Errorf("h2 %v: %s", h2, diff)
				}
				if answer.Header["X-Sum"] != nil || answer.Header["X-Late"] != nil {
					t.Errorf("h2 %v: headers %q", h2, answer.Header)
				}
			})
		}
	}
}

func TestStreamsWithoutDelay(t *testing.T) {
	for _, h2 := range []bool{false, true} {
		release := make(chan struct{})
		exchanged(t, h2, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "<html>\n")
			w.(http.Flusher).Flush()
			<-release
			_, _ = io.WriteString(w, "second\n")
		}, func(answer *http.Response) {
			body := bufio.NewReader(answer.Body)
			if line, err := body.ReadString('\n'); line != "<html>\n" ||
				answer.Header.Get("Content-Type") != "text/html; charset=utf-8" {
				t.Errorf("read %q, %v, headers %q", line, err, answer.Header)
			}
			close(release)
			if line, err := body.ReadString('\n'); line != "second\n" {
				t.Errorf("read %q, %v", line, err)
			}
		})
	}
}

func TestSwitchingProtocols(t *testing.T) {
	exchanged(t, false, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "echo")
		w.WriteHeader(http.StatusSwitchingProtocols)
		conn, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close() }()
		line, _ := rw.ReadString('\n')
		_, _ = rw.WriteString(line)
		_ = rw.Flush()
	}, func(answer *http.Response) {
		stream, ok := answer.Body.(io.ReadWriter)
		if !ok || answer.StatusCode != http.StatusSwitchingProtocols {
			t.Fatalf("status %d", answer.StatusCode)
		}
		_, _ = io.WriteString(stream, "hello\n")
		if line, err := bufio.NewReader(stream).ReadString('\n'); line != "hello\n" {
			t.Errorf("read %q, %v", line, err)
		}
	})
}
