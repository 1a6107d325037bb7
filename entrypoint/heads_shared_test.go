package entrypoint_test

import (
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/net/http2"
)

// TestHeadsOfOthersAreServed fills the budget of all connections by large heads, and has another client send ordinary
// ones: the connections that hold most end, and the client loses no request.
func TestHeadsOfOthersAreServed(t *testing.T) {
	const large, requests = 47, 40
	held, release := make(chan struct{}, 2*large), make(chan struct{})
	var arrived atomic.Int64
	together := make(chan struct{})
	s := start(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/other":
			held <- struct{}{}
			select {
			case <-release:
			case <-r.Context().Done():
			}
		case r.Header.Get("Cookie") == "":
		case arrived.Add(1) == requests:
			close(together)
		default:
			<-together
		}
	}), nil)
	defer close(release)
	calmed := make(chan bool, large)
	fill := func(streams, times int) {
		framer := s.framer()
		amplified(t, framer, "x-a", streams, times)
		go func() {
			code, came := ended(framer)
			calmed <- came && code == http2.ErrCodeEnhanceYourCalm
		}()
		for range streams {
			<-held
		}
	}
	for range large - 2 {
		fill(2, 190)
	}
	fill(1, 190)
	fill(1, 100) // A few kilobytes are left.
	client, url := s.client("h2")
	do(t, client, http.MethodPost, url+"/other", strings.NewReader("x"))
	var work sync.WaitGroup
	for range requests {
		work.Go(func() {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/other", strings.NewReader("x"))
			if err != nil {
				t.Error(err)
				return
			}
			r.Header.Set("Cookie", strings.Repeat("c", 3000))
			response, err := client.Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			_ = response.Body.Close()
		})
	}
	work.Wait()
	if !<-calmed {
		t.Error("the connection that held most did not end with ENHANCE_YOUR_CALM")
	}
}
