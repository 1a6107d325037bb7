package websocket_test

import (
	"encoding/base64"
	"net/http"
	"testing"

	"github.com/sluiceproxy/sluice/httpio/websocket"
)

// TestAccepts has the example of RFC 6455, section 1.3.
func TestAccepts(t *testing.T) {
	t.Parallel()
	request := http.Header{"Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}}
	if !websocket.Accepts(request, http.Header{"Sec-Websocket-Accept": {"s3pPLMBiTxaQ9kYGzzhZRbK+xOo="}}) {
		t.Error("the answer of the RFC is refused")
	}
	if websocket.Accepts(request, http.Header{}) {
		t.Error("no answer is accepted")
	}
}

func TestUnopened(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]int{
		http.StatusEarlyHints: http.StatusEarlyHints, http.StatusOK: http.StatusNotImplemented,
		http.StatusPartialContent: http.StatusNotImplemented, http.StatusFound: http.StatusFound,
		http.StatusUpgradeRequired: http.StatusUpgradeRequired,
	} {
		if got := websocket.Unopened(status); got != want {
			t.Errorf("%d becomes %d", status, got)
		}
	}
}

func TestOffer(t *testing.T) {
	t.Parallel()
	header := http.Header{"Sec-Websocket-Key": {"a client's"}, "Sec-Websocket-Version": {"13"}}
	websocket.Offer(header)
	if header.Get("Upgrade") != "websocket" || header.Get("Connection") != "Upgrade" ||
		header.Get("Sec-Websocket-Version") != "13" {
		t.Errorf("the fields are %v", header)
	}
	key, err := base64.StdEncoding.DecodeString(header.Get("Sec-Websocket-Key"))
	if err != nil || len(key) != 16 {
		t.Errorf("the key is %q, error %v", key, err)
	}
	again := http.Header{}
	if websocket.Offer(again); again.Get("Sec-Websocket-Key") == header.Get("Sec-Websocket-Key") {
		t.Error("two keys are the same")
	}
}
