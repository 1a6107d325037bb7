package server_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/sluiceproxy/sluice/http2/server"
)

// observed is what a server made of the frames of a client.
type observed struct {
	mutex sync.Mutex
	// requests are what the handler saw, by target.
	requests map[string]string
	// streams are what the client got, by identifier, and away is the code of GOAWAY.
	streams map[uint32]*outcome
	away    string
}

// outcome is what a client got on a stream.
type outcome struct {
	text strings.Builder
	body bytes.Buffer
	// ended says that the server has ended the stream, reset with which code it has reset it.
	ended bool
	reset string
	// passive says that nothing is expected to come.
	passive bool
}

// String is the outcome in one line.
func (o *outcome) String() string {
	text := o.text.String()
	if !o.ended && text == "" && o.body.Len() == 0 && o.reset != "NO_ERROR" && o.reset != "INTERNAL_ERROR" ||
		strings.Contains(text, "is not valid in HTTP/2") {
		return "refused"
	}
	if !o.ended {
		return fmt.Sprintf("%s broken by %s", o.text.String(), o.reset)
	}
	return o.text.String()
}

// observer is a handler that notes what it sees, and answers as the query says.
type observer struct{ seen *observed }

func (o observer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body []byte
	var err error
	has := func(mode string) bool { return strings.Contains(r.URL.RawQuery, mode) }
	if !has("unread") {
		body, err = io.ReadAll(r.Body)
	}
	trailer := maps.Clone(r.Trailer)
	if len(trailer) == 0 {
		trailer = nil
	}
	header := maps.Clone(r.Header)
	delete(header, "Expect") // net/http takes it away.
	o.seen.mutex.Lock()
	o.seen.requests[r.RequestURI] = fmt.Sprintf(
		"%s %q %s host=%q header=%q length=%d encoding=%v close=%v trailer=%q body=%q broken=%v",
		r.Method, r.URL.String(), r.Proto, r.Host, header, r.ContentLength, r.TransferEncoding, r.Close, trailer, body,
		err != nil)
	o.seen.mutex.Unlock()
	w.Header().Set("Content-Type", "text/plain")
	o.answer(w, has, body)
}

func (o observer) answer(w http.ResponseWriter, has func(string) bool, body []byte) {
	h := w.Header()
	switch {
	case has("hints"):
		h.Set("Link", "</a>")
		w.WriteHeader(http.StatusEarlyHints)
	case has("none"):
		w.WriteHeader(http.StatusNoContent)
		return
	case has("same"):
		w.WriteHeader(http.StatusNotModified)
		return
	case has("missing"):
		w.WriteHeader(http.StatusNotFound)
	case has("announced"):
		h.Set("Trailer", "X-A, X-B, X-A")
		h.Add("Trailer", "X-A")
	case has("length"):
		h.Set("Content-Length", "3")
		_, _ = io.WriteString(w, "abcdef")
		return
	case has("short"):
		h.Set("Content-Length", "9")
		_, _ = io.WriteString(w, "abc")
		return
	case has("large"):
		_, _ = io.WriteString(w, strings.Repeat("x", 50_000))
		return
	case has("abort"):
		panic(http.ErrAbortHandler)
	case has("break"):
		_, _ = io.WriteString(w, "abc")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	case has("fields"):
		h["X-Many"] = []string{"1", "2", ""}
		h["Bad Name"] = []string{"1"}
		h[":status"] = []string{"500"}
		h["Connection"], h["Keep-Alive"], h["Transfer-Encoding"] = []string{"x"}, []string{"1"}, []string{"chunked"}
	}
	_, _ = w.Write(body)
	if has("flush") {
		w.(http.Flusher).Flush()
		_, _ = io.WriteString(w, "after")
	}
	h.Set("X-A", "1")
	h.Set("X-Late", "ignored")
	h.Set(http.TrailerPrefix+"X-C", "3")
	if !has("prefix") {
		h.Del(http.TrailerPrefix + "X-C")
	}
}

// note takes a frame, and reports whether the client may go on.
func (o *observed) note(frame http2.Frame) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	s := o.streams[frame.Header().StreamID]
	switch f := frame.(type) {
	case *http2.GoAwayFrame:
		o.away = f.ErrCode.String()
	case *http2.MetaHeadersFrame:
		if s == nil {
			return
		}
		var fields []string
		for _, field := range f.Fields {
			if field.Name != "date" {
				fields = append(fields, field.Name+": "+field.Value)
			}
		}
		slices.Sort(fields)
		if s.body.Len() > 0 || strings.Contains(s.text.String(), ":status: 2") {
			fmt.Fprintf(&s.text, "%q", s.body.String())
			s.body.Reset()
		}
		fmt.Fprintf(&s.text, "%q", fields)
		s.end(f.StreamEnded())
	case *http2.DataFrame:
		if s == nil {
			return
		}
		s.body.Write(f.Data())
		s.end(f.StreamEnded())
	case *http2.RSTStreamFrame:
		if s != nil && s.reset == "" {
			s.reset = f.ErrCode.String()
		}
	}
}

func (o *outcome) end(ended bool) {
	if ended && !o.ended {
		o.ended = true
		fmt.Fprintf(&o.text, "%q", o.body.String())
	}
}

// complete reports whether all streams have ended.
func (o *observed) complete() bool {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	for _, s := range o.streams {
		if !s.ended && s.reset == "" && !s.passive {
			return false
		}
	}
	return true
}

// play has a client play a script, and returns what came of it.
func play(t testing.TB, serve func(conn net.Conn, handler http.Handler), script script) *observed {
	t.Helper()
	seen := &observed{requests: map[string]string{}, streams: map[uint32]*outcome{}}
	client, conn := net.Pipe()
	var work sync.WaitGroup
	work.Go(func() { serve(conn, observer{seen}) })
	p := newPeer(t, client, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1 << 20})
	_ = client.SetDeadline(time.Now().Add(20 * time.Second))
	_ = p.WriteWindowUpdate(0, 1<<30)
	changed := make(chan struct{}, 1)
	over := make(chan struct{})
	work.Go(func() {
		defer close(over)
		for {
			frame, err := p.ReadFrame()
			if err != nil {
				return
			}
			seen.note(frame)
			select {
			case changed <- struct{}{}:
			default:
			}
		}
	})
	script(p, seen)
	_ = p.writer.Flush()
	for done := false; !done && !seen.complete(); {
		select {
		case <-changed:
		case <-over:
			done = true
		}
	}
	_ = client.Close()
	work.Wait()
	return seen
}

// ours and theirs serve a connection.
func ours(conn net.Conn, handler http.Handler) {
	s := &server.Server{Handler: handler}
	server.Poison(s)
	s.ServeConn(context.Background(), conn)
	_ = s.Close()
}

func theirs(conn net.Conn, handler http.Handler) {
	quiet := &http.Server{ErrorLog: log.New(io.Discard, "", 0)} //nolint:gosec // It is not served.
	//nolint:staticcheck // It is the one that serves a connection.
	new(http2.Server).ServeConn(conn, &http2.ServeConnOpts{Handler: handler, BaseConfig: quiet})
}

// send opens a stream with a request whose target names it, and notes that a response is expected.
func (p *peer) send(seen *observed, id uint32, method, query string, end bool, fields ...string) {
	seen.mutex.Lock()
	seen.streams[id] = &outcome{}
	seen.mutex.Unlock()
	_ = p.open(id, method, fmt.Sprintf("/%d?%s", id, query), end, fields...)
}

// compare returns what differs.
func compare(a, b *observed) string {
	refused := false
	for id := range a.streams {
		if a.streams[id].String() == "refused" && b.streams[id].String() == "refused" {
			refused = true // Whether its handler began, and whether the connection ends too, is chance.
			continue
		}
		if x, y := a.streams[id].String(), b.streams[id].String(); x != y {
			return fmt.Sprintf("stream %d:\nhttp2    %s\nnet/http %s", id, x, y)
		}
	}
	if refused {
		return ""
	}
	for _, target := range slices.Sorted(maps.Keys(a.requests)) {
		if x, y := a.requests[target], b.requests[target]; x != y {
			return fmt.Sprintf("%s:\nhttp2    %s\nnet/http %s", target, x, y)
		}
	}
	for target := range b.requests {
		if a.requests[target] == "" {
			return fmt.Sprintf("%s:\nonly net/http %s", target, b.requests[target])
		}
	}
	if a.away != b.away {
		return fmt.Sprintf("GOAWAY:\nhttp2    %s\nnet/http %s", a.away, b.away)
	}
	return ""
}

// TestSameAsNetHTTP plays the same scripts to both servers.
func TestSameAsNetHTTP(t *testing.T) {
	t.Parallel()
	named := differences()
	for name, script := range allScripts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			why := compare(play(t, ours, script), play(t, theirs, script))
			reason, differs := named[name]
			if differs != (why != "") {
				t.Errorf("allowed by %q: %s", reason, why)
			}
		})
	}
	for name := range named {
		if allScripts()[name] == nil {
			t.Errorf("no script is named %q", name)
		}
	}
}

// differences are the scripts whose outcome differs, by name, and why it may.
func differences() map[string]string {
	const (
		length   = "a length other than that of the body is malformed (RFC 9113, section 8.1.1)"
		specific = "fields that concern a connection are not sent, and malformed (RFC 9113, section 8.2.2)"
		metadata = "304 needs no metadata of the representation (RFC 9110, section 15.4.5)"
		dropped  = "trailers may be discarded (RFC 9110, section 6.5.1)"
	)
	return map[string]string{
		"GET length": length, "POST length": length, "body length": length,
		"GET short": length, "POST short": length, "body short": length, "fields length": length,
		"GET same": metadata, "HEAD same": metadata, "POST same": metadata, "body same": metadata,
		"GET fields": specific, "HEAD fields": specific, "POST fields": specific, "body fields": specific,
		"trailers upgrade":  specific,
		"trailers te":       dropped,
		"trailers length":   dropped,
		"trailers host":     dropped,
		"trailers priority": "trailers that were not announced are visible (RFC 9110, section 6.6.2)",
		"HEAD large":        "the length of a body is said if it is known (RFC 9110, section 8.6)",
		"HEAD break":        "a response that the handler breaks off does not end well (RFC 9113, section 8.1)",
	}
}

type script = func(p *peer, seen *observed)

// allScripts are the scripts of both tables.
func allScripts() map[string]script {
	scripts := map[string]script{}
	for _, mode := range []string{
		"", "unread", "hints", "none", "same", "missing", "announced", "length", "large", "flush", "abort", "break", "fields",
		"announced&flush", "prefix", "prefix&flush", "hints&announced", "short",
	} {
		for _, method := range []string{"GET", "HEAD", "POST"} {
			scripts[method+" "+mode] = func(p *peer, seen *observed) { p.send(seen, 1, method, mode, true) }
		}
		scripts["body "+mode] = func(p *peer, seen *observed) {
			p.send(seen, 1, "POST", mode, false, "content-length: 4")
			_ = p.WriteData(1, false, []byte("bo"))
			_ = p.WriteData(1, true, []byte("dy"))
		}
	}
	for name, fields := range fieldSets() {
		scripts["fields "+name] = func(p *peer, seen *observed) { p.send(seen, 1, "GET", "", true, fields...) }
		scripts["fields of a body "+name] = func(p *peer, seen *observed) {
			p.send(seen, 1, "POST", "", false, fields...)
			_ = p.WriteData(1, true, []byte("body"))
		}
		scripts["trailers "+name] = func(p *peer, seen *observed) {
			p.send(seen, 1, "POST", "", false, "trailer: x-a, x-b")
			_ = p.WriteData(1, false, []byte("body"))
			_ = p.WriteHeaders(http2.HeadersFrameParam{
				StreamID: 1, EndHeaders: true, EndStream: true, BlockFragment: p.head(fields...),
			})
		}
	}
	return scripts
}

// fieldSets are fields of requests, good ones and bad ones.
func fieldSets() map[string][]string {
	return map[string][]string{
		"plain":          {"x-a: 1", "x-b: 2", "x-a: 3"},
		"empty":          {"x-a: "},
		"cookies":        {"cookie: a=b", "x-a: 1", "cookie: c=d", "cookie: e=f"},
		"te":             {"te: trailers"},
		"host":           {"host: b"},
		"priority":       {"priority: u=1, i"},
		"length":         {"content-length: 4"},
		"binary":         {"x-a: \xc3\xa9\xff"},
		"upper case":     {"X-A: 1"},
		"space":          {"x a: 1"},
		"no name":        {": 1"},
		"connection":     {"connection: close"},
		"upgrade":        {"upgrade: x"},
		"encoding":       {"transfer-encoding: chunked"},
		"keep-alive":     {"keep-alive: 1"},
		"NUL":            {"x-a: a\x00b"},
		"CR LF":          {"x-a: a\r\nb: c"},
		"late pseudo":    {"x-a: 1", ":path: /other"},
		"unknown pseudo": {":other: 1"},
		"two methods":    {":method: GET"},
	}
}
