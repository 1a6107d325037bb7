package protocol

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/integration/harness"
)

func escape(id string) string { return url.QueryEscape(id) }

// serverName is the value of X-Forwarded-Server.
func serverName() string {
	name, _ := os.Hostname() // The product leaves it empty, too.
	return name
}

// proveGone leaves before and within a response; the backend notices.
func proveGone(t *testing.T, c cell) {
	for _, path := range []string{"/hang", "/slow", "/events"} {
		stream := c.world.backend.Stream(t.Name())
		ctx, leave := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := c.Try(c.Request(http.MethodGet, path+"?id="+escape(t.Name()), nil).WithContext(ctx))
			ended <- err
		}()
		harness.Await(t, stream.Begun, path+" begins")
		leave()
		harness.Await(t, stream.Gone, path+": the backend notices that the client has left")
		if err := harness.Await(t, ended, path+" ends"); err == nil {
			t.Errorf("%s: the response was complete", path)
		}
	}
}

// proveGoneUploading breaks off within a request's body; the backend never takes it for a complete one.
func proveGoneUploading(t *testing.T, c cell) {
	stream := c.world.backend.Stream(t.Name())
	body, writer := io.Pipe()
	response, err := c.Do(c.Request(http.MethodPost, "/mirror?id="+escape(t.Name()), body))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // It broke off.
	if _, err := io.WriteString(writer, "half"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(response.Body, make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	_ = writer.CloseWithError(errors.New("the client leaves"))
	harness.Await(t, stream.Gone, "the backend notices that the client has left")
	if stream.Err == nil {
		t.Error("the backend took the request for complete")
	}
	if _, err := io.ReadAll(response.Body); err == nil {
		t.Error("the response was complete")
	}
}

// proveEarlyAnswer gets a whole response to a request whose body never ends.
func proveEarlyAnswer(t *testing.T, c cell) {
	body, writer := io.Pipe()
	go func() { _, _ = io.WriteString(writer, "a beginning") }() // It need not be read.
	response, err := c.Do(c.Request(http.MethodPost, "/refuse", body))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusRequestEntityTooLarge || string(text) != "too large" {
		t.Errorf("status %d, body %q, %v", response.StatusCode, text, err)
	}
	_ = writer.CloseWithError(errors.New("not wanted")) // A client of net/http waits for its body otherwise.
	_ = response.Body.Close()
}

// proveCut gets an error, never what looks like a complete response, when the upstream breaks off.
func proveCut(t *testing.T, c cell) {
	for _, query := range []string{"?size=10", "?size=100000", "?size=10&chunked", "?size=100000&chunked"} {
		response, err := c.Try(c.Request(http.MethodGet, "/cut"+query, nil))
		if err == nil {
			t.Errorf("%s: complete, with status %d and %d bytes", query, response.StatusCode, len(response.Text))
		}
	}
	expectAnswer(t, c.Get("/cut"), http.StatusBadGateway, "Bad Gateway", c.wrapped)
	if got := c.Get("/bytes?size=10"); got.StatusCode != http.StatusOK {
		t.Errorf("afterwards: status %d", got.StatusCode)
	}
}

// proveFailures expects the right status without internal details if there is no endpoint.
func proveFailures(t *testing.T, c cell) {
	// The backend may take a late request when it has been answered already, so that each has a stream of its own.
	late := map[string]string{}
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		id := t.Name() + method
		c.world.backend.Stream(id)
		late[method] = "/hang?id=" + escape(id)
	}
	root := map[string]string{http.MethodGet: "/", http.MethodPost: "/"}
	tests := []struct {
		host   string
		paths  map[string]string // by method
		status int
		text   string
	}{
		{"refused-" + c.wrap(), root, http.StatusBadGateway, "Bad Gateway"},
		{"empty-" + c.wrap(), root, http.StatusServiceUnavailable, "Service Unavailable"},
		{"late-" + c.wrap(), late, http.StatusGatewayTimeout, "Gateway Timeout"},
	}
	for _, test := range tests {
		client := c.world.client(t, c.Protocol, test.host+".test")
		expectAnswer(t, client.Get(test.paths[http.MethodGet]), test.status, test.text, c.wrapped)
		expectAnswer(t, client.Post(test.paths[http.MethodPost], "a body"), test.status, test.text, c.wrapped)
	}
	got := c.world.client(t, c.Protocol, "unknown.test").Get("/")
	if got.StatusCode != http.StatusNotFound || got.Text != "404 page not found\n" {
		t.Errorf("unknown host: status %d, body %q", got.StatusCode, got.Text)
	}
}

// reason matches internal details.
var reason = regexp.MustCompile(`127\.0\.0\.1|dial|refused|EOF|reset|timeout awaiting|endpoint|pool`)

func expectAnswer(t *testing.T, got harness.Response, status int, text string, wrapped bool) {
	t.Helper()
	want := http.Header{
		"Content-Type": {"text/plain; charset=utf-8"}, "X-Content-Type-Options": {"nosniff"},
		"Content-Length": got.Header["Content-Length"], "Date": got.Header["Date"],
	}
	if wrapped {
		want["X-Wrapped"] = []string{"yes"}
	}
	if got.StatusCode != status || got.Text != text || reason.MatchString(got.Text) {
		t.Errorf("status %d, body %q; want %d, %q", got.StatusCode, got.Text, status, text)
	}
	if diff := cmp.Diff(want, got.Header); diff != "" {
		t.Errorf("%d: header (-want +got):\n%s", status, diff)
	}
}
