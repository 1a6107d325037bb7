package harness

import (
	"net/http"

	"github.com/coder/websocket"
)

// WebSocket opens a WebSocket on a path, or fails the test. It is closed when the test ends.
func (c *Client) WebSocket(path string) *websocket.Conn {
	c.t.Helper()
	connection, response, err := websocket.Dial(c.t.Context(), c.URL(path), &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: c.Transport}, Subprotocols: []string{"echo"},
	})
	if err != nil {
		if response != nil && response.Body != nil {
			_ = response.Body.Close()
		}
		c.t.Fatalf("websocket %s by %s: %v", path, c.Protocol, err)
	}
	connection.SetReadLimit(8 << 20)
	c.t.Cleanup(func() { _ = connection.CloseNow() })
	return connection
}
