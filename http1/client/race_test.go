package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/sluiceproxy/sluice/http1/client"
	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http1/wire"
)

// TestDiscardedExchangesLeakNothing cancels, closes and fails exchanges at every moment, among others that share the
// connections and the memory. Each of those gets the answer to its own request, and nothing else.
func TestDiscardedExchangesLeakNothing(t *testing.T) {
	endpoint := http1test.NewEndpoint(t, func(conn *http1test.Conn, number int) {
		for {
			head := conn.Head()
			if head == "" {
				return
			}
			_, id, _ := strings.Cut(head, "X-Id: ")
			id, _, _ = strings.Cut(id, "\r\n")
			body := conn.Body(head)
			text := strings.Repeat(id+body, 100)
			if number%2 == 0 {
				conn.Say(fmt.Sprintf("HTTP/1.1 200 OK\r\nX-Id: %s\r\nContent-Length: %d\r\n\r\n%s", id, len(text), text))
				continue
			}
			conn.Say(fmt.Sprintf("HTTP/1.1 200 OK\r\nX-Id: %s\r\nTransfer-Encoding: chunked\r\n\r\n", id))
			conn.Say(fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(text), text))
		}
	})
	upstream := testUpstream(t, endpoint.Address(), nil)
	var workers sync.WaitGroup
	for worker := range 8 {
		workers.Go(func() {
			for i := range 200 {
				if err := discardedExchange(t, upstream, fmt.Sprintf("<%d-%d>", worker, i), i%4); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	workers.Wait()
}

// discardedExchange makes one exchange, which is disturbed unless how is 0.
func discardedExchange(t *testing.T, upstream *client.Upstream, id string, how int) error {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := testRequest(t, "POST", "a.example", strings.NewReader("body")).WithContext(ctx)
	r.Header.Set("X-Id", id)
	if len(id)%2 == 0 {
		r.Body, r.GetBody = streamed(r.Body), nil
	}
	switch how {
	case 1:
		go cancel()
	case 2:
		r.Body, r.GetBody = streamed(io.MultiReader(strings.NewReader("bo"), brokenReader{})), nil
	}
	response, err := upstream.RoundTrip(r)
	if err != nil {
		if how == 0 || how == 3 {
			return fmt.Errorf("%s: %w", id, err)
		}
		return nil
	}
	defer http1test.Discard(response.Body)
	if got := response.Header.Get("X-Id"); got != id {
		return fmt.Errorf("%s got the answer to %s", id, got)
	}
	if how == 3 {
		var some [64]byte
		_, _ = response.Body.Read(some[:rand.IntN(len(some))]) //nolint:gosec // any number
		return nil
	}
	body, err := io.ReadAll(response.Body)
	whole := strings.Repeat(id+"body", 100)
	if how == 0 && err != nil || !strings.HasPrefix(whole, string(body)) || err == nil && len(body) != len(whole) {
		return fmt.Errorf("%s got %q, %w", id, body, err)
	}
	return nil
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("broken") }

// FuzzRequestHead demands that what is sent is one request, with the fields that were given and no other.
func FuzzRequestHead(f *testing.F) {
	f.Add("GET", "/a?b", "q", "a.example", "Name", "value")
	f.Add("GET /x HTTP/1.1\r\n", "/ ", "a b", "a\r\nb", "Na me", "a\r\nb: c")
	f.Add("POST", "*", "", "[::1%25a]:80", "content-length", "5")
	f.Add("PUT", "", "", "a", "uPGRADE", "h2c, x")
	f.Fuzz(func(t *testing.T, method, path, query, host, name, value string) {
		r := testRequest(t, "GET", "a.example", nil)
		r.Method, r.Host, r.URL.Path, r.URL.RawQuery = method, host, path, query
		r.Header = map[string][]string{name: {value}}
		head, length, err := client.AppendRequest(r)
		if err != nil {
			return
		}
		var scan wire.Scanner
		end, err := scan.Scan(head, wire.Limits{})
		if err != nil || end != len(head) {
			t.Fatalf("%q: the head ends at %d, %v", head, end, err)
		}
		var read wire.Request
		if err := read.Parse(append([]byte(nil), head...)); err != nil {
			// A path that net/url takes and no server does.
			if errors.Is(err, wire.ErrTarget) {
				return
			}
			t.Fatalf("%q: %v", head, err)
		}
		if length != 0 || read.Chunked || read.Length > 0 || len(read.Header) > 2 {
			t.Errorf("%q is read as %+v", head, read)
		}
	})
}
