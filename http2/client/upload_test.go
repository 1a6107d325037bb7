package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http2"

	http1 "github.com/sluiceproxy/sluice/http1/client"
	"github.com/sluiceproxy/sluice/http2/client"
)

// TestUploads sends bodies of every kind with small and large windows.
func TestUploads(t *testing.T) {
	long := strings.Repeat("0123456789", 30_000)
	tests := map[string]struct {
		body    io.Reader
		length  int64
		trailer http.Header
		want    string
	}{
		"at hand":             {strings.NewReader("hello"), 5, nil, "hello"},
		"at hand, large":      {strings.NewReader(long), int64(len(long)), nil, long},
		"at hand, trailers":   {strings.NewReader("hello"), 5, http.Header{"A": {"b "}, "Content-Length": {"1"}}, "hello"},
		"streamed":            {streamed(strings.NewReader("hello")), 5, nil, "hello"},
		"streamed, large":     {streamed(strings.NewReader(long)), int64(len(long)), nil, long},
		"longer":              {streamed(strings.NewReader("hello, world")), 5, nil, "hello"},
		"unknown":             {streamed(strings.NewReader("hello")), -1, nil, "hello"},
		"unknown, end":        {streamed(iotest.DataErrReader(strings.NewReader("hello"))), -1, nil, "hello"},
		"unknown, bytes":      {streamed(iotest.OneByteReader(strings.NewReader("hello"))), -1, nil, "hello"},
		"unknown, empty":      {streamed(strings.NewReader("")), -1, nil, ""},
		"unknown, trailers":   {streamed(strings.NewReader(long)), -1, http.Header{"A": {"b"}, "Te": {"x"}}, long},
		"trailers, no values": {streamed(strings.NewReader("hello")), -1, http.Header{"A": nil}, "hello"},
	}
	for name, test := range tests {
		for _, window := range []int{1000, 65535, 1 << 20} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					if seeker, ok := test.body.(io.Seeker); ok {
						_, _ = seeker.Seek(0, io.SeekStart)
					} else if window != 1000 {
						return
					}
					g := newRig(t, client.Config{})
					p := g.open(http2.Setting{ID: http2.SettingInitialWindowSize, Val: uint32(window)}) //nolint:gosec // small
					r := request(context.Background(), "POST /", test.body)
					r.ContentLength, r.Trailer = test.length, test.trailer
					got := g.send(r)
					p.request(3)
					body, trailer := p.upload(3)
					if body != test.want {
						t.Errorf("got %d bytes: %.40q", len(body), body)
					}
					want := ""
					if len(test.trailer["A"]) > 0 {
						want = "a: b"
					}
					if trailer != want {
						t.Errorf("got the trailers %q", trailer)
					}
					p.head(3, true, ":status: 200")
					wait(t, got).want(t, 200, "")
					g.idle()
				})
			})
		}
	}
}

// upload reads a body with its trailers, and gives the windows back.
func (p *peer) upload(id uint32) (body, trailer string) {
	p.t.Helper()
	var all strings.Builder
	for {
		switch f := p.next().(type) {
		case *http2.DataFrame:
			all.Write(f.Data())
			if f.StreamEnded() {
				return all.String(), ""
			}
			if n := uint32(len(f.Data())); n > 0 { //nolint:gosec // small
				p.must(p.WriteWindowUpdate(0, n))
				p.must(p.WriteWindowUpdate(id, n))
			}
		case *http2.MetaHeadersFrame:
			if !f.StreamEnded() {
				p.t.Fatal("trailers without end")
			}
			var lines []string
			for _, one := range f.Fields {
				lines = append(lines, one.Name+": "+one.Value)
			}
			return all.String(), strings.Join(lines, "|")
		default:
			p.t.Fatalf("got %v", f)
		}
	}
}

// TestBodiesThatFail reports the error of the body, and the endpoint never sees the end of the request.
func TestBodiesThatFail(t *testing.T) {
	left := errors.New("the client left")
	tests := map[string]struct {
		body   io.Reader
		length int64
		want   error
	}{
		"fails":          {streamed(io.MultiReader(strings.NewReader("x"), iotest.ErrReader(left))), 5, left},
		"fails, unknown": {streamed(io.MultiReader(strings.NewReader("x"), iotest.ErrReader(left))), -1, left},
		"short":          {streamed(strings.NewReader("hell")), 5, client.ErrBodyShort},
		"too long":       {streamed(iotest.DataErrReader(strings.NewReader("hello!"))), 5, client.ErrBodyLong},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newRig(t, client.Config{})
				p := g.open()
				r := request(context.Background(), "POST /", test.body)
				r.ContentLength = test.length
				if errors.Is(test.want, client.ErrBodyLong) {
					r.Trailer = http.Header{"A": nil} // Else nothing is read behind the length.
				}
				got := g.send(r)
				p.request(3)
				for {
					if f, ok := p.next().(*http2.RSTStreamFrame); ok {
						if f.ErrCode != http2.ErrCodeCancel {
							t.Error(f.ErrCode)
						}
						break
					}
				}
				a := wait(t, got)
				a.fails(t, test.want, true)
				if _, ok := errors.AsType[*http1.RequestBodyError](a.head); !ok {
					t.Errorf("got %T", a.head)
				}
				g.idle()
			})
		})
	}
	// Nothing is sent of a body that is at hand and fails.
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, client.Config{})
		p := g.open()
		r := request(context.Background(), "POST /", strings.NewReader("hell"))
		r.ContentLength = 5
		wait(t, g.send(r)).fails(t, client.ErrBodyShort, false)
		_ = p
		g.idle()
	})
}

// TestRequestsThatAreRefused sends nothing of a request that can't be sent.
func TestRequestsThatAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, client.Config{})
		g.open(http2.Setting{ID: http2.SettingMaxHeaderListSize, Val: 1000})
		tests := map[string]struct {
			change func(r *http.Request)
			want   error
		}{
			"CONNECT":  {func(r *http.Request) { r.Method = "CONNECT" }, client.ErrConnect},
			"method":   {func(r *http.Request) { r.Method = "A B" }, client.ErrMethod},
			"name":     {func(r *http.Request) { r.Header = http.Header{"A B": {"c"}} }, client.ErrFieldName},
			"too much": {func(r *http.Request) { r.Header.Set("A", strings.Repeat("b", 1000)) }, client.ErrHeadTooLarge},
			"value":    {func(r *http.Request) { r.Header.Set("A", "b\nc") }, nil},
			"host":     {func(r *http.Request) { r.Host = "a b" }, nil},
		}
		for name, test := range tests {
			r := request(context.Background(), "POST /", nil)
			body := &closable{Reader: strings.NewReader("x")}
			r.Body = body
			test.change(r)
			a := wait(t, g.send(r))
			_, kind := errors.AsType[*http1.RequestError](a.head)
			if test.want != nil && !errors.Is(a.head, test.want) || !kind || a.trip.Sent() || !body.closed.Load() {
				t.Errorf("%s: %v, sent %v", name, a.head, a.trip.Sent())
			}
		}
		g.idle()
	})
}

// TestExpectContinue waits with the body for 100, a time, or sends none after a final response.
func TestExpectContinue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, client.Config{ContinueTimeout: 10 * time.Second})
		p := g.open()
		send := func(id uint32) (<-chan answer, *closable) {
			body := &closable{Reader: strings.NewReader("hello")}
			r := request(context.Background(), "POST /", body)
			r.ContentLength = 5
			r.Header.Set("Expect", "100-Continue")
			got := g.send(r)
			p.request(id)
			return got, body
		}
		got, _ := send(3)
		begun := time.Now()
		p.head(3, false, ":status: 100")
		if body := p.body(3); body != "hello" || time.Since(begun) > 0 {
			t.Errorf("got %q after %v", body, time.Since(begun))
		}
		p.head(3, true, ":status: 200")
		wait(t, got).want(t, 200, "")

		got, _ = send(5)
		if body := p.body(5); body != "hello" || time.Since(begun) != 10*time.Second {
			t.Errorf("got %q after %v", body, time.Since(begun))
		}
		p.head(5, true, ":status: 200")
		wait(t, got).want(t, 200, "")

		got, body := send(7)
		p.head(7, false, ":status: 417")
		synctest.Wait()
		if !body.closed.Load() {
			t.Error("the body is open")
		}
		p.data(7, true, "no")
		wait(t, got).want(t, 417, "no")
		p.reset(7, http2.ErrCodeCancel)

		got, body = send(9)
		p.must(p.WriteRSTStream(9, http2.ErrCodeRefusedStream))
		if a := wait(t, got); a.head == nil || a.trip.Sent() {
			t.Errorf("got %d, %v", a.status, a.head)
		}
		synctest.Wait()
		if !body.closed.Load() {
			t.Error("the body is open")
		}
		g.idle()
	})
}

// TestEarlyResponse takes a response that comes before the end of the request, whatever becomes of that.
func TestEarlyResponse(t *testing.T) {
	tests := map[string]func(p *peer){
		"end alone": func(*peer) {},
		"NO_ERROR":  func(p *peer) { p.must(p.WriteRSTStream(3, http2.ErrCodeNo)) },
		"CANCEL":    func(p *peer) { p.must(p.WriteRSTStream(3, http2.ErrCodeCancel)) },
		"away":      func(p *peer) { p.must(p.WriteGoAway(3, http2.ErrCodeNo, nil)) },
	}
	for name, after := range tests {
		for _, interrupts := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					g := newRig(t, client.Config{})
					p := g.open()
					reader, writer := io.Pipe()
					options := http1.Options{}
					if interrupts {
						options.Interrupt = func() bool {
							_ = writer.CloseWithError(io.ErrNoProgress)
							return true
						}
					}
					got := g.sendWith(options, request(context.Background(), "POST /", reader))
					p.request(3)
					_, _ = io.WriteString(writer, "some")
					p.sink()
					synctest.Wait()
					p.head(3, false, ":status: 200")
					p.data(3, true, "hello")
					after(p)
					a := wait(t, got)
					a.want(t, 200, "hello")
					if a.trip.Alone() {
						t.Error("the upload is not known")
					}
					synctest.Wait()
					if _, err := writer.Write([]byte("x")); err == nil {
						t.Error("the body is still read")
					}
					g.idle()
				})
			})
		}
	}
}

// TestHeads sends what HTTP/2 has of a request.
func TestHeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t, client.Config{})
		p := g.open(http2.Setting{ID: http2.SettingHeaderTableSize, Val: 0})
		send := func(id uint32, options http1.Options, change func(r *http.Request)) []string {
			r := request(context.Background(), "GET /a?b", nil)
			change(r)
			got := g.sendWith(options, r)
			var lines []string
			for _, one := range p.request(id).Fields {
				lines = append(lines, one.Name+": "+one.Value)
			}
			p.head(id, true, ":status: 200")
			wait(t, got).want(t, 200, "")
			return lines
		}
		begin := []string{":method: GET", ":scheme: http", ":path: /a?b", ":authority: example.com"}
		is := func(got []string, want ...string) {
			t.Helper()
			if diff := cmp.Diff(append(begin[:len(begin):len(begin)], want...), got); diff != "" {
				t.Error(diff)
			}
		}
		is(send(3, http1.Options{}, func(r *http.Request) {
			r.Header = http.Header{
				"Connection": {"x"}, "Keep-Alive": {"1"}, "Te": {"gzip, trailers"}, "Transfer-Encoding": {"chunked"},
				"Proxy-Connection": {"x"}, "Upgrade": {"x"}, "Http2-Settings": {"x"}, "Content-Length": {"9"},
			}
		}), "te: trailers")
		is(send(5, http1.Options{}, func(r *http.Request) { r.Header.Set("X-A", " \tb ") }), "x-a: b")
		options := http1.Options{Line: []byte("Traceparent: 00\r\n")}
		options.Replace.Name, options.Replace.Value = "X-A", "c"
		is(send(7, options, func(r *http.Request) { r.Header.Set("X-A", "b") }), "x-a: c", "traceparent: 00")
		large := strings.Repeat("~", 40_000)
		is(send(9, http1.Options{}, func(r *http.Request) { r.Header.Set("X-A", large) }), "x-a: "+large)
	})
}
