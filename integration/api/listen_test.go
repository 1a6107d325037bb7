package api

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// event is one of /api/events.
type event struct {
	name, id, data string
}

// read reads the data of an event.
func read[T any](t *testing.T, from event) T {
	t.Helper()
	var value T
	if err := json.Unmarshal([]byte(from.data), &value); err != nil {
		t.Fatalf("event %s: %v: %s", from.name, err, from.data)
	}
	return value
}

// listener reads a stream of events.
type listener struct {
	// events get what arrives; they are closed when the stream has ended, in whatever way.
	events chan event
	header http.Header
	leave  context.CancelFunc
	t      *testing.T
}

// tryListen requests the event stream with a header Last-Event-ID, unless that is empty. Without a stream, the response
// has the reason.
func tryListen(t *testing.T, client *harness.Client, last string) (*listener, harness.Response) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	request := client.Request(http.MethodGet, "/api/events", nil).WithContext(ctx)
	request.Header.Set("Accept", "text/event-stream")
	if last != "" {
		request.Header.Set("Last-Event-ID", last)
	}
	response, err := client.Transport.RoundTrip(request)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK {
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Error(err)
		}
		_ = response.Body.Close()
		cancel()
		return nil, harness.Response{Response: response, Text: string(text)}
	}
	l := &listener{events: make(chan event, 1000), header: response.Header, leave: cancel, t: t}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(l.events)
		l.follow(response.Body)
		_ = response.Body.Close()
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return l, harness.Response{Response: response}
}

// listen requests the event stream, or fails the test.
func listen(t *testing.T, client *harness.Client, last string) *listener {
	t.Helper()
	l, refusal := tryListen(t, client, last)
	if l == nil {
		t.Fatalf("/api/events: status %d: %s", refusal.StatusCode, refusal.Text)
	}
	return l
}

// follow reads events until the stream ends.
func (l *listener) follow(body io.Reader) {
	lines := bufio.NewReader(body)
	var next event
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		switch name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); name {
		case "event":
			next.name = value
		case "id":
			next.id = value
		case "data":
			next.data = value
		case "":
			if next.name != "" {
				l.events <- next
			}
			next = event{}
		}
	}
}

// expect returns the next event of a name, for which wanted holds; nil holds for all. Others before it are passed over.
func (l *listener) expect(name string, wanted func(event) bool) event {
	l.t.Helper()
	for {
		next := harness.Await(l.t, l.events, "the event "+name)
		if next.name == "" {
			l.t.Fatalf("the stream ended before the event %s", name)
		}
		if next.name == name && (wanted == nil || wanted(next)) {
			return next
		}
	}
}

// mentions returns a condition for events whose data holds a text.
func mentions(text string) func(event) bool {
	return func(e event) bool { return strings.Contains(e.data, text) }
}
