package webhook_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// stalled sends the header of a large review, and returns what receives the answer once the body is expected.
func stalled(t *testing.T, address string, trust *tls.Config) *bufio.Reader {
	t.Helper()
	connection, err := (&tls.Dialer{Config: trust}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	_, err = fmt.Fprint(connection, "POST /inject HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n"+
		"Content-Length: 6291456\r\nExpect: 100-continue\r\n\r\n")
	if err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(connection)
	for _, want := range []string{"HTTP/1.1 100 Continue\r\n", "\r\n"} {
		if line, err := answers.ReadString('\n'); err != nil || line != want {
			t.Fatalf("%q %v", line, err)
		}
	}
	return answers
}

// TestStalledSendersHoldNothing has requests whose bodies do not come: reviews are answered meanwhile, small and large
// ones, and the others get 408.
func TestStalledSendersHoldNothing(t *testing.T) {
	h, _ := handler(fixed, nil)
	_, address, trust := serve(t, h, func() error { return nil })
	var senders []*bufio.Reader
	for range 20 {
		senders = append(senders, stalled(t, address, trust))
	}
	transport := &http.Transport{TLSClientConfig: trust}
	t.Cleanup(transport.CloseIdleConnections)
	for _, padding := range []int{0, 1 << 20} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+address+"/inject",
			strings.NewReader(review()+strings.Repeat(" ", padding)))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		response, err := transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Errorf("a review of %d bytes more: %s", padding, response.Status)
		}
	}
	for _, sender := range senders {
		if line, err := sender.ReadString('\n'); err != nil || !strings.HasPrefix(line, "HTTP/1.1 408 ") {
			t.Errorf("%q %v", line, err)
		}
	}
}
