package entrypoint

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"testing"

	"golang.org/x/net/http2"

	"github.com/sluiceproxy/sluice/static"
)

func TestHTTP2Options(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(hello), func(c *static.EntryPoint) {
		c.HTTP2 = static.HTTP2{MaxConcurrentStreams: 17, MaxDecoderHeaderTableSize: 8192, MaxEncoderHeaderTableSize: 4096}
	})
	conn := s.dial()
	say(t, conn, http2.ClientPreface)
	framer := http2.NewFramer(conn, conn)
	if err := framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	frame, err := framer.ReadFrame()
	if err != nil {
		t.Fatal(err)
	}
	settings, ok := frame.(*http2.SettingsFrame)
	if !ok {
		t.Fatalf("the first frame is %v", frame)
	}
	for id, want := range map[http2.SettingID]uint32{
		http2.SettingMaxConcurrentStreams: 17, http2.SettingHeaderTableSize: 8192,
	} {
		if got, ok := settings.Value(id); !ok || got != want {
			t.Errorf("%v is %d, want %d", id, got, want)
		}
	}
}

// TestMisdirectedClosesTheConnection answers as a router does whose TLS options are others than those of the connection: the
// client comes back on a new connection, and streams that run finish.
func TestMisdirectedClosesTheConnection(t *testing.T) {
	for _, protocol := range []string{"h2", "h2c"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/stream":
					_ = http.NewResponseController(w).Flush()
					<-release
					_, _ = io.WriteString(w, "whole")
				case "/misdirected":
					w.Header().Set("Connection", "close")
					http.Error(w, "misdirected", http.StatusMisdirectedRequest)
				default:
					_, _ = io.WriteString(w, r.RemoteAddr)
				}
			}), nil)
			client, url := s.client(protocol)
			_, before := do(t, client, http.MethodGet, url, nil)
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/stream", nil)
			if err != nil {
				t.Fatal(err)
			}
			stream, err := client.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = stream.Body.Close() }()
			if response, _ := do(t, client, http.MethodGet, url+"/misdirected", nil); response.StatusCode != http.StatusMisdirectedRequest {
				t.Errorf("status %d", response.StatusCode)
			}
			after := before
			s.eventually("a new connection", func() bool {
				_, after = do(t, client, http.MethodGet, url, nil)
				return after != before
			})
			close(release)
			body, err := bufio.NewReader(stream.Body).ReadString('e')
			if got := fmt.Sprint(body, err); got != "whole<nil>" {
				t.Errorf("the running stream got %s", got)
			}
		})
	}
}
