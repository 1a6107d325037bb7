package headers

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
)

// TestBothProtocols has the same answers over HTTP/1.1 and HTTP/2, in clear and over TLS, from many clients at a time.
func TestBothProtocols(t *testing.T) {
	step := build(t, dynamic.Headers{
		AccessControlAllowOriginListRegex: []string{`https://[a-z0-9]+\.example`}, AccessControlAllowCredentials: true,
		AddVaryHeader:             true,
		AccessControlAllowMethods: []string{"*"}, CustomRequestHeaders: map[string]string{"X-Team": "shop"},
		STSSeconds: new(int64(60)),
	})
	handler := step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Accept")
		_, _ = io.WriteString(w, r.Header.Get("X-Team")+" "+r.Header.Get("Origin"))
	}))
	for _, protocol := range []string{"h1", "h1+TLS", "h2"} {
		t.Run(protocol, func(t *testing.T) {
			server := httptest.NewUnstartedServer(handler)
			server.EnableHTTP2 = protocol == "h2"
			if protocol == "h1" {
				server.Start()
			} else {
				server.StartTLS()
			}
			defer server.Close()
			var clients sync.WaitGroup
			for i := range 8 {
				clients.Go(func() {
					for range 20 {
						if err := visit(t, server, "https://"+strconv.Itoa(i)+".example", protocol != "h1"); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			clients.Wait()
		})
	}
}

// visit sends a preflight request and the one that follows.
func visit(t *testing.T, server *httptest.Server, origin string, encrypted bool) error {
	for _, method := range []string{http.MethodOptions, http.MethodPut} {
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL, http.NoBody)
		if err != nil {
			return err
		}
		r.Header = http.Header{"Origin": {origin}, requestMethod: {"PUT"}, "X-Team": {"forged"}}
		answer, err := server.Client().Do(r)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil {
			return err
		}
		delete(answer.Header, "Date")
		want := http.Header{allowOrigin: {origin}, allowCredentials: {"true"}, allowMethods: {"PUT"}, "Content-Length": {"0"}}
		wantBody := ""
		if method == http.MethodPut {
			wantBody = "shop " + origin
			want = http.Header{
				allowOrigin: {origin}, allowCredentials: {"true"}, "Vary": {"Accept,Origin"},
				"Content-Type": {"text/plain; charset=utf-8"}, "Content-Length": {strconv.Itoa(len(wantBody))},
			}
			if encrypted {
				want.Set("Strict-Transport-Security", "max-age=60")
			}
		}
		if diff := cmp.Diff(want, answer.Header); diff != "" || string(body) != wantBody {
			return fmt.Errorf("%s from %s: body %q, headers %s", method, origin, body, diff)
		}
	}
	return nil
}

// TestHintsStayAsTheyAre has an informational response before the final one, which alone is edited.
func TestHintsStayAsTheyAre(t *testing.T) {
	step := build(t, dynamic.Headers{FrameDeny: true, AccessControlAllowOriginList: []string{"*"}})
	w := &heads{Writer: new(middlewaretest.Writer)}
	step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusEarlyHints)
		w.WriteHeader(http.StatusNotFound)
	})).ServeHTTP(w, middlewaretest.Request(t, "GET /"))
	if got := strings.Join(w.seen, " "); got != "103:0 404:2" {
		t.Errorf("saw %s", got)
	}
}

// heads notes each status with the number of headers.
type heads struct {
	*middlewaretest.Writer
	seen []string
}

// WriteHeader notes it.
func (h *heads) WriteHeader(status int) {
	h.seen = append(h.seen, fmt.Sprintf("%d:%d", status, len(h.Header())))
}
