package forward

import (
	"io"
	"net/http"
	"testing"
)

// TestWhatCameBeforeABreakArrives although the endpoint breaks off in the same moment, and the break is seen.
func TestWhatCameBeforeABreakArrives(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
	for name, text := range map[string]string{
		"closed":    head + "b\r\ndata: last\n\r\n",
		"malformed": head + "b\r\ndata: last\n\r\nzz\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			g := newProxy(t, setup{server: scripted(t, says(text)), options: Options{FlushInterval: -1}})
			response, err := g.client.Do(request(t, http.MethodGet, g.url, nil))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			_ = response.Body.Close()
			equal(t, "body", string(body), "data: last\n")
			if err == nil {
				t.Error("the break can't be seen")
			}
		})
	}
}
