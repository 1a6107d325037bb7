package entrypoint_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// amplified opens streams whose heads refer times to one field of 4,000 bytes, which only the first sends. It returns
// how many bytes were sent.
func amplified(t *testing.T, framer *http2.Framer, name string, streams, times int) (sent int) {
	t.Helper()
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for i := range streams {
		block.Reset()
		for _, field := range []hpack.HeaderField{
			{Name: ":method", Value: "GET"},
			{Name: ":scheme", Value: "http"},
			{Name: ":path", Value: "/"},
			{Name: ":authority", Value: "a"},
		} {
			_ = encoder.WriteField(field)
		}
		for range times {
			_ = encoder.WriteField(hpack.HeaderField{Name: name, Value: strings.Repeat("x", 4000)})
		}
		sent += block.Len()
		err := framer.WriteHeaders(http2.HeadersFrameParam{
			StreamID: uint32(2*i + 1), BlockFragment: block.Bytes(), EndHeaders: true, EndStream: true, //nolint:gosec // small
		})
		if err != nil {
			return sent // The server has closed the connection.
		}
	}
	return sent
}

// ended reads until the connection ends, and returns the code of GOAWAY.
func ended(framer *http2.Framer) (code http2.ErrCode, came bool) {
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return code, came
		}
		if away, ok := frame.(*http2.GoAwayFrame); ok {
			code, came = away.ErrCode, true
		}
	}
}

// heap returns how many bytes of the heap are in use.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc) //nolint:gosec // It is less than the machine has.
}

// TestAmplifiedHeads has connections of HTTP/2 send heads that are large in memory and small on the wire, to a handler
// that keeps them. They end with ENHANCE_YOUR_CALM, hold little, and others are served.
func TestAmplifiedHeads(t *testing.T) {
	for _, name := range []string{"x-a", "cookie"} {
		t.Run(name, func(t *testing.T) {
			const connections, streams = 8, 100
			release := make(chan struct{})
			s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/other" {
					_, _ = io.WriteString(w, "served")
					return
				}
				<-release
				runtime.KeepAlive(r.Header)
			}), nil)
			before := heap()
			var work sync.WaitGroup
			calmed := make(chan http2.ErrCode, connections)
			sent := make(chan int, connections)
			for range connections {
				framer := s.framer()
				work.Go(func() {
					sent <- amplified(t, framer, name, streams, 190)
					code, _ := ended(framer)
					calmed <- code
				})
			}
			wire := 0
			for range connections {
				wire += receive(t, sent, "the end of sending")
				if code := receive(t, calmed, "the end of a connection"); code != http2.ErrCodeEnhanceYourCalm {
					t.Errorf("a connection ended with %v", code)
				}
			}
			// The handlers still run. A connection holds its budget at most, of which only cookies are copies.
			if held := heap() - before; held > int64(4*wire)+connections*3<<20 {
				t.Errorf("%d bytes on the wire hold %d KiB", wire, held>>10)
			}
			for _, protocol := range protocols() {
				client, url := s.client(protocol)
				if _, body := do(t, client, http.MethodGet, url+"/other", nil); body != "served" {
					t.Errorf("%s: got %q", protocol, body)
				}
			}
			close(release)
			work.Wait()
			refused := 0
			for refused == 0 {
				record := s.record()
				if record.Status == http.StatusRequestHeaderFieldsTooLarge && strings.Contains(record.Reason, "memory") {
					refused++
				}
			}
		})
	}
}

// TestAnnouncedTrailers has a connection announce more trailers than its budget has room for.
func TestAnnouncedTrailers(t *testing.T) {
	t.Parallel()
	const streams = 100
	var names strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&names, "%x,", i)
	}
	release := make(chan struct{})
	defer close(release)
	s := start(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }), nil)
	framer := s.framer()
	over := make(chan http2.ErrCode, 1)
	go func() {
		code, _ := ended(framer)
		over <- code
	}()
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for i := range streams {
		block.Reset()
		for _, field := range []hpack.HeaderField{
			{Name: ":method", Value: "GET"},
			{Name: ":scheme", Value: "http"},
			{Name: ":path", Value: "/"},
			{Name: ":authority", Value: "a"},
			{Name: "trailer", Value: names.String()},
		} {
			_ = encoder.WriteField(field)
		}
		if framer.WriteHeaders(http2.HeadersFrameParam{
			StreamID: uint32(2*i + 1), BlockFragment: block.Bytes(), EndHeaders: true, EndStream: true, //nolint:gosec // small
		}) != nil {
			break // The server has closed the connection.
		}
	}
	if code := receive(t, over, "the end of the connection"); code != http2.ErrCodeEnhanceYourCalm {
		t.Errorf("the connection ended with %v", code)
	}
}

// TestHeadsWithinTheBudget sends as many requests at a time as a connection may have, with the cookies of a browser.
func TestHeadsWithinTheBudget(t *testing.T) {
	t.Parallel()
	const streams = 100
	all := make(chan struct{})
	var here sync.WaitGroup
	here.Add(streams)
	s := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/again" {
			return
		}
		here.Done()
		<-all
		_, _ = fmt.Fprint(w, len(r.Header.Get("Cookie")))
	}), nil)
	client, url := s.client("h2")
	do(t, client, http.MethodGet, url+"/again", nil, "Cookie", strings.Repeat("c", 8000))
	var work sync.WaitGroup
	for range streams {
		work.Go(func() {
			if _, body := do(t, client, http.MethodGet, url, nil, "Cookie", strings.Repeat("c", 8000)); body != "8000" {
				t.Errorf("got %q", body)
			}
		})
	}
	here.Wait()
	close(all)
	work.Wait()
	// What has ended counts no more.
	for range 3 * streams {
		do(t, client, http.MethodGet, url+"/again", nil, "Cookie", strings.Repeat("c", 8000))
	}
}

// TestStreamsByDefault counts the streams that a connection may have at a time.
func TestStreamsByDefault(t *testing.T) {
	t.Parallel()
	s := start(t, http.HandlerFunc(hello), nil)
	framer := s.framer()
	frame, err := framer.ReadFrame()
	if err != nil {
		t.Fatal(err)
	}
	settings, ok := frame.(*http2.SettingsFrame)
	if !ok {
		t.Fatalf("the first frame is %v", frame)
	}
	if got, _ := settings.Value(http2.SettingMaxConcurrentStreams); got != 100 {
		t.Errorf("%d streams", got)
	}
}
