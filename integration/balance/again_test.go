package balance

import (
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// TestWhatIsTriedAgain breaks one endpoint of two in each way, and sends enough requests to reach both. A request of
// which nothing was sent is retried at the other one whatever its method; one that may have been processed only if it
// is idempotent, and never at the same endpoint. Clients do not see the failed attempts.
func TestWhatIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		scheme string
		server func(*endpoint) string
	}{{"http", (*endpoint).server}, {"h2c", (*endpoint).h2c}} {
		t.Run(test.scheme, func(t *testing.T) {
			t.Parallel()
			fleet := startFleet(t, 2)
			const options = `retry: {perTryTimeout: 2s, status: ["500"], budgetPercent: 100}, ` + noOutlier
			p := startProxy(t, site{"pool": pool(options, test.server(fleet[0]), test.server(fleet[1]))})
			expectTries(t, fleet[0], fleet[1], p.client("pool"))
			if test.scheme == "h2c" {
				return // Over HTTP/2 nothing is upgraded.
			}
			for range 4 {
				converse(t, p.client("pool").WebSocket("/websocket"))
			}
		})
	}
}

// expectTries breaks one of two endpoints in each way.
func expectTries(t *testing.T, broken, good *endpoint, client *harness.Client) {
	t.Helper()
	fleet := []*endpoint{broken, good}
	expect := func(what, method string, again bool, status int) {
		t.Helper()
		before, direct := arrivals(fleet), 0
		for range 4 {
			answer := client.Send(client.Request(method, "/path", strings.NewReader("a body")))
			switch name := answer.Header.Get("X-Endpoint"); {
			case answer.StatusCode == http.StatusOK && name == good.name && len(answer.Header.Values("X-Endpoint")) == 1:
				direct++
				if answer.Text != method+" /path a body" {
					t.Errorf("%s, %s: the answer is %q", what, method, answer.Text)
				}
			case answer.StatusCode != status:
				t.Errorf("%s, %s: status %d from %q", what, method, answer.StatusCode, name)
			}
		}
		if want := map[bool]int{true: 4, false: 2}[again]; direct != want {
			t.Errorf("%s, %s: %d answers of the good endpoint, want %d", what, method, direct, want)
		}
		if arrived := arrivals(fleet) - before; !again && arrived != 4 {
			t.Errorf("%s, %s: %d requests arrived, want 4", what, method, arrived)
		}
	}

	broken.mode.Store(breaks)
	expect("closes after reading", http.MethodGet, true, 0)
	expect("closes after reading", http.MethodPost, false, http.StatusBadGateway)
	broken.mode.Store(hangs)
	expect("hangs", http.MethodDelete, true, 0)
	expect("hangs", http.MethodPost, false, http.StatusGatewayTimeout)
	broken.mode.Store(answers)
	broken.status.Store(http.StatusInternalServerError)
	expect("answers 500", http.MethodPut, true, 0)
	expect("answers 500", http.MethodPost, false, http.StatusInternalServerError)
	broken.kill()
	expect("refuses", http.MethodGet, true, 0)
	expect("refuses", http.MethodPost, true, 0)
}
