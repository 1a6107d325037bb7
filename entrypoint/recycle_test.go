package entrypoint_test

import (
	"bufio"
	"context"
	"net/http"
	"sync"
	"testing"
)

// TestLateQuestions reads the contexts of requests whose memory serves others already. Package context does that in
// goroutines of its own when a client leaves while its response ends.
func TestLateQuestions(t *testing.T) {
	type unknown struct{}
	var asking sync.WaitGroup
	defer asking.Wait()
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, begun := r.Context(), make(chan struct{})
		asking.Go(func() {
			close(begun)
			for range 300 {
				if got := ctx.Value(unknown{}); got != nil {
					t.Errorf("the context answers %v", got)
				}
				derived, cancel := context.WithTimeout(ctx, timeout)
				_ = context.Cause(derived)
				cancel()
			}
		})
		<-begun
		w.(interface{ Recycle() }).Recycle()
	}), nil)
	conn := s.dial()
	reader := bufio.NewReader(conn)
	for range 200 {
		say(t, conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		if response, _ := answer(t, reader); response.StatusCode != http.StatusOK {
			t.Fatalf("status %d", response.StatusCode)
		}
	}
}
