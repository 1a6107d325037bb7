package server_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"

	"github.com/sluiceproxy/sluice/http1/http1test"
	"github.com/sluiceproxy/sluice/http2/server"
)

// bubble serves a connection in memory, within synctest, whose client reads all that comes. got gets the frames.
func bubble(t *testing.T, s *server.Server) (p *peer, got <-chan string, over <-chan time.Time) {
	t.Helper()
	server.Poison(s)
	client, over := pipe(s)
	t.Cleanup(func() {
		_ = s.Close()
		<-over
	})
	frames := make(chan string, 1000)
	p = newPeer(t, client)
	go func() {
		defer close(frames)
		for {
			frame, err := p.ReadFrame()
			if err != nil {
				return
			}
			switch f := frame.(type) {
			case *http2.GoAwayFrame:
				frames <- "GOAWAY " + f.ErrCode.String()
			case *http2.PingFrame:
				if f.IsAck() {
					frames <- "PONG"
				} else {
					frames <- "PING"
				}
			case *http2.RSTStreamFrame:
				frames <- "RST_STREAM " + f.ErrCode.String()
			}
		}
	}()
	p.flush()
	return p, frames, over
}

// said returns the frames that have come.
func said(got <-chan string) (all []string) {
	for {
		select {
		case one, ok := <-got:
			if !ok {
				return all
			}
			all = append(all, one)
		default:
			return all
		}
	}
}

// TestIdleTimeout has clients without streams, of which one sends PING, and one has had a stream.
func TestIdleTimeout(t *testing.T) {
	t.Parallel()
	const timeout = 10 * time.Second
	for name, play := range map[string]func(p *peer){
		"silent": func(*peer) {},
		"pings": func(p *peer) {
			for p.WritePing(false, [8]byte{1}) == nil && p.writer.Flush() == nil {
				time.Sleep(time.Second) //nolint:forbidigo // within synctest
			}
		},
		"after a stream": func(p *peer) {
			p.request(1, "GET", "/", true)
			p.flush()
			synctest.Wait()
			p.must(p.WriteSettingsAck())
			p.flush()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				p, got, over := bubble(t, &server.Server{Handler: http.HandlerFunc(hello), IdleTimeout: timeout})
				defer http1test.Discard(p.conn)
				play(p)
				if after := (<-over).Sub(began); after < timeout || after > timeout+time.Second {
					t.Errorf("it ended after %v", after)
				}
				synctest.Wait()
				if all := said(got); len(all) == 0 || all[len(all)-1] != "GOAWAY NO_ERROR" {
					t.Errorf("it said %q", all)
				}
			})
		})
	}
}

// TestIdleTimeoutOfStreams has a stream that takes longer than the idle timeout.
func TestIdleTimeoutOfStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		p, got, over := bubble(t, &server.Server{
			IdleTimeout: time.Second,
			Handler:     http.HandlerFunc(func(http.ResponseWriter, *http.Request) { time.Sleep(30 * time.Second) }), //nolint:forbidigo // within synctest
		})
		defer http1test.Discard(p.conn)
		p.request(1, "GET", "/", true)
		p.flush()
		if after := (<-over).Sub(began); after < 31*time.Second || after > 32*time.Second {
			t.Errorf("it ended after %v: %q", after, said(got))
		}
	})
}

// TestOpeningTimeout has a client that does not send the preface.
func TestOpeningTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		client, over := pipe(&server.Server{Handler: http.HandlerFunc(hello), OpeningTimeout: 2 * time.Second})
		defer http1test.Discard(client)
		go func() { _, _ = io.Copy(io.Discard, client) }()
		_, _ = io.WriteString(client, "PRI")
		if after := (<-over).Sub(began); after != 2*time.Second {
			t.Errorf("it ended after %v", after)
		}
	})
}

// TestPing has clients that are silent for long: one answers PING, and one does not.
func TestPing(t *testing.T) {
	t.Parallel()
	for name, answers := range map[string]bool{"answers": true, "does not answer": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				ended := make(chan struct{})
				p, got, over := bubble(t, &server.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					<-r.Context().Done()
					close(ended)
				})})
				p.request(1, "GET", "/", true)
				p.flush()
				time.Sleep(server.PingAfter + time.Second) //nolint:forbidigo // within synctest
				if all := said(got); len(all) != 1 || all[0] != "PING" {
					t.Fatalf("it said %q", all)
				}
				if !answers {
					limit := server.PingAfter + server.PingTimeout
					if after := (<-over).Sub(began); after < limit || after > limit+time.Second {
						t.Errorf("it ended after %v", after)
					}
					<-ended
					return
				}
				// The payload is the time since the start.
				p.must(p.WritePing(true, [8]byte{}))
				p.flush()
				time.Sleep(server.PingTimeout + time.Second) //nolint:forbidigo // within synctest
				select {
				case <-over:
					t.Error("it ended")
				default:
				}
				_ = p.conn.Close()
				<-over
				<-ended
			})
		})
	}
}

// TestClientThatDoesNotRead has a client that accepts no byte any more.
func TestClientThatDoesNotRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &server.Server{Handler: http.HandlerFunc(hello)}
		client, over := pipe(s)
		defer http1test.Discard(client)
		if _, err := io.ReadFull(client, make([]byte, 9)); err != nil {
			t.Fatal(err)
		}
		if after := (<-over).Sub(began); after > server.WriteTimeout+server.PingAfter {
			t.Errorf("it ended after %v", after)
		}
	})
}

// TestRetire ends connections while a client opens a stream, which is served: only the second GOAWAY, which follows the
// answer to PING, refuses streams.
func TestRetire(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(s *server.Server) error{
		"EndKeepAlives": func(s *server.Server) error { s.EndKeepAlives(); return nil },
		"Shutdown":      func(s *server.Server) error { return s.Shutdown(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := serve(t, hello)
			p := g.peer()
			p.request(1, "GET", "/", true)
			p.status(1, "200")
			p.data(1, "hello", true)
			done := make(chan error, 1)
			go func() { done <- end(g.server) }()
			if f := expect[*http2.GoAwayFrame](p); f.LastStreamID != 1<<31-1 || f.ErrCode != http2.ErrCodeNo {
				t.Errorf("GOAWAY of %d with %v", f.LastStreamID, f.ErrCode)
			}
			ping := expect[*http2.PingFrame](p)
			p.request(3, "GET", "/", true)
			p.must(p.WritePing(true, ping.Data))
			p.request(5, "GET", "/", true)
			p.flush()
			var body string
			var last uint32
			for {
				frame, err := p.ReadFrame()
				if err != nil {
					break
				}
				switch f := frame.(type) {
				case *http2.GoAwayFrame:
					last = f.LastStreamID
				case *http2.DataFrame:
					body += string(f.Data())
				}
			}
			if body != "hello" || last != 3 {
				t.Errorf("got %q, and GOAWAY of %d", body, last)
			}
			if err := http1test.Receive(t, done, "the end"); err != nil {
				t.Error(err)
			}
			g.UntilClosed()
		})
	}
}

// TestRetireWithoutAnswer has a client that does not answer the PING behind GOAWAY.
func TestRetireWithoutAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &server.Server{Handler: http.HandlerFunc(hello)}
		p, got, over := bubble(t, s)
		defer http1test.Discard(p.conn)
		synctest.Wait()
		began := time.Now()
		s.EndKeepAlives()
		if after := (<-over).Sub(began); after < server.StreamGrace || after > server.StreamGrace+time.Second {
			t.Errorf("it ended after %v", after)
		}
		synctest.Wait()
		if all := said(got); len(all) != 3 || all[0] != "GOAWAY NO_ERROR" || all[1] != "PING" || all[2] != "GOAWAY NO_ERROR" {
			t.Errorf("it said %q", all)
		}
	})
}

// TestConnWhileDraining opens a connection to a server that is ending: SETTINGS comes first.
func TestConnWhileDraining(t *testing.T) {
	t.Parallel()
	g := serve(t, hello)
	g.server.EndKeepAlives()
	p := g.peer()
	p.flush()
	frame, err := p.ReadFrame()
	p.must(err)
	if _, ok := frame.(*http2.SettingsFrame); !ok {
		t.Fatalf("the first frame is %v", frame)
	}
	expect[*http2.GoAwayFrame](p)
	p.request(1, "GET", "/", true)
	expect[*http2.PingFrame](p)
	p.status(1, "200")
}

// TestLastStreamDoesNotRise has a client break a rule after the second GOAWAY.
func TestLastStreamDoesNotRise(t *testing.T) {
	t.Parallel()
	g := serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	p := g.peer()
	p.request(1, "GET", "/", true)
	p.flush()
	http1test.Eventually(t, "the handler runs", func() bool { return server.Running(g.server) == 1 })
	g.server.EndKeepAlives()
	expect[*http2.GoAwayFrame](p)
	p.must(p.WritePing(true, expect[*http2.PingFrame](p).Data))
	if f := expect[*http2.GoAwayFrame](p); f.LastStreamID != 1 {
		t.Errorf("GOAWAY of %d", f.LastStreamID)
	}
	p.request(3, "GET", "/", true)
	p.must(p.WriteWindowUpdate(0, 0))
	if f := expect[*http2.GoAwayFrame](p); f.LastStreamID != 1 || f.ErrCode != http2.ErrCodeProtocol {
		t.Errorf("GOAWAY of %d with %v", f.LastStreamID, f.ErrCode)
	}
}

// TestConnectionClose has a handler end the connection.
func TestConnectionClose(t *testing.T) {
	t.Parallel()
	g := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") })
	p := g.peer()
	p.request(1, "GET", "/", true)
	p.status(1, "200")
	expect[*http2.GoAwayFrame](p)
	p.must(p.WritePing(true, expect[*http2.PingFrame](p).Data))
	expect[*http2.GoAwayFrame](p)
	g.UntilClosed()
}

// TestCancellation ends requests in each way that a client can, and has their handlers notice.
func TestCancellation(t *testing.T) {
	t.Parallel()
	for name, cancel := range map[string]func(g *rig, p *peer){
		"RST_STREAM": func(_ *rig, p *peer) { p.must(p.WriteRSTStream(1, http2.ErrCodeCancel)) },
		"close":      func(_ *rig, p *peer) { _ = p.conn.Close() },
		"half-close": func(_ *rig, p *peer) { _ = p.conn.(*net.TCPConn).CloseWrite() },
		"fault":      func(_ *rig, p *peer) { p.must(p.WriteWindowUpdate(0, 0)) },
		"Close":      func(g *rig, _ *peer) { _ = g.server.Close() },
	} {
		for _, waits := range []string{"/context", "/read", "/write"} {
			t.Run(name+waits, func(t *testing.T) {
				t.Parallel()
				began, ended := make(chan struct{}), make(chan error, 1)
				g := serve(t, func(w http.ResponseWriter, r *http.Request) {
					close(began)
					var err error
					switch waits {
					case "/read":
						_, err = io.Copy(io.Discard, r.Body)
					case "/write":
						for err == nil {
							_, err = w.Write(make([]byte, 1000))
						}
					}
					<-r.Context().Done()
					if err == nil {
						err = r.Context().Err()
					}
					ended <- err
				})
				p := g.peer()
				p.request(1, "POST", waits, false)
				p.flush()
				<-began
				cancel(g, p)
				_ = p.writer.Flush()
				if err := http1test.Receive(t, ended, "the end of the handler"); err == nil {
					t.Error("no error")
				}
			})
		}
	}
}

// TestCloseIdle ends connections that have had no stream for ten seconds or longer, and no others.
func TestCloseIdle(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		idle  time.Duration
		path  string
		ended bool
	}{
		"no stream yet":   {10 * time.Second, "", true},
		"after a stream":  {10 * time.Second, "/", true},
		"not for so long": {9 * time.Second, "/", false},
		"a stream":        {10 * time.Second, "/wait", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tested := &server.Server{Handler: http.HandlerFunc(floodHandler)}
				p, got, over := bubble(t, tested)
				if test.path != "" {
					p.request(1, "GET", test.path, true)
				}
				p.must(p.WriteSettingsAck())
				p.flush()
				pause := time.NewTimer(test.idle)
				<-pause.C
				tested.CloseIdle(10 * time.Second)
				pause.Reset(2 * time.Second)
				<-pause.C
				ended := false
				select {
				case <-over:
					ended = true
				default:
				}
				if ended != test.ended || ended != slices.Contains(said(got), "GOAWAY NO_ERROR") {
					t.Errorf("it has ended: %v, and said %q", ended, said(got))
				}
				http1test.Discard(p.conn)
				if !ended {
					<-over
				}
			})
		})
	}
}
