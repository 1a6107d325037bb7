package server_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/sluiceproxy/sluice/http2/server"
)

// compiled makes a script of bytes: each is a frame or two. What it does is what both servers agree about by
// TestSameAsNetHTTP; what is left to find is what they make of its combinations.
func compiled(code []byte) script {
	return func(p *peer, seen *observed) {
		modes := []string{"", "hints", "none", "missing", "announced", "flush", "announced&flush", "prefix", "hints&flush"}
		good := []string{"plain", "empty", "cookies", "te", "priority", "binary"}
		bad := []string{"upper case", "space", "no name", "connection", "encoding", "NUL", "late pseudo", "two methods"}
		sets := fieldSets()
		var open []uint32
		next := uint32(1)
		for _, b := range code[:min(len(code), 60)] {
			arg := int(b >> 3)
			switch b % 8 {
			case 0, 1:
				method := []string{"GET", "HEAD", "POST", "OPTIONS"}[arg%4]
				p.send(seen, next, method, modes[arg%len(modes)], true, sets[good[arg%len(good)]]...)
				next += 2
			case 2:
				p.send(seen, next, "GET", "unread", true, sets[bad[arg%len(bad)]]...)
				next += 2
			case 3:
				p.send(seen, next, "GET", []string{"unread", "abort", "break", "large"}[arg%4], true)
				next += 2
			case 4:
				p.send(seen, next, "POST", modes[arg%len(modes)], false, append(sets[good[arg%len(good)]], "trailer: x-a")...)
				open = append(open, next)
				next += 2
			default:
				if len(open) == 0 {
					continue
				}
				at := arg % len(open)
				id, end := open[at], b%8 != 5
				switch {
				case b%8 == 7:
					_ = p.WriteHeaders(http2.HeadersFrameParam{
						StreamID: id, EndHeaders: true, EndStream: true, BlockFragment: p.head("x-a: trailer"),
					})
				case arg%2 == 0:
					_ = p.WriteDataPadded(id, end, bytes.Repeat([]byte{b}, 40*arg), make([]byte, arg))
				default:
					_ = p.WriteData(id, end, bytes.Repeat([]byte{b}, 40*arg))
				}
				if end {
					open = append(open[:at], open[at+1:]...)
				}
			}
		}
		for _, id := range open {
			_ = p.WriteData(id, true, nil)
		}
	}
}

// FuzzDifferences plays scripts that are made of bytes to both servers.
func FuzzDifferences(f *testing.F) {
	f.Add([]byte{0, 8, 16, 24, 32, 40, 48, 56, 64})
	f.Add([]byte{4, 12, 5, 13, 21, 7, 6, 1, 2, 3, 11, 19, 27})
	f.Add([]byte("many frames of streams that are open at a time"))
	f.Fuzz(func(t *testing.T, code []byte) {
		if why := compare(play(t, ours, compiled(code)), play(t, theirs, compiled(code))); why != "" {
			t.Error(why)
		}
	})
}

// FuzzFrames sends any bytes behind the preface, and then leaves.
func FuzzFrames(f *testing.F) {
	add := func(write func(p *peer)) {
		var sent bytes.Buffer
		p := &peer{Framer: http2.NewFramer(&sent, nil)}
		p.AllowIllegalWrites = true
		write(p)
		f.Add(sent.Bytes())
	}
	block := []byte("\x82\x84\x86\x01\x01a")
	add(func(p *peer) {
		_ = p.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1})
		_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block, EndHeaders: true})
		_ = p.WriteData(1, true, []byte("body"))
		_ = p.WriteWindowUpdate(1, 100)
		_ = p.WriteRSTStream(1, http2.ErrCodeCancel)
	})
	add(func(p *peer) {
		_ = p.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize})
		_ = p.WriteSettings(http2.Setting{ID: http2.SettingMaxFrameSize, Val: 1 << 20})
		_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block[:3], EndStream: true})
		_ = p.WriteContinuation(1, true, block[3:])
		_ = p.WritePing(false, [8]byte{})
		_ = p.WritePriority(3, http2.PriorityParam{})
		_ = p.WriteRawFrame(16, 0, 0, []byte("\x00\x00\x00\x01u=1"))
		_ = p.WriteGoAway(0, 0, nil)
		_ = p.WriteDataPadded(1, true, nil, make([]byte, 10))
	})
	f.Fuzz(func(t *testing.T, sent []byte) {
		s := &server.Server{
			MaxStreams: 10, WriteTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second,
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(w, r.Body)
				_, _ = io.WriteString(w, strings.Repeat("x", 100))
			}),
		}
		server.Poison(s)
		client, over := pipe(s)
		_ = client.SetDeadline(time.Now().Add(20 * time.Second))
		read := make(chan error, 1)
		go func() {
			framer := http2.NewFramer(io.Discard, client)
			framer.SetMaxReadFrameSize(1<<24 - 1)
			for {
				_, err := framer.ReadFrame()
				if err != nil {
					read <- err
					return
				}
			}
		}()
		_, _ = io.WriteString(client, http2.ClientPreface)
		_, _ = client.Write(sent)
		_ = client.Close()
		<-over
		if err := <-read; err == nil {
			t.Error("the connection goes on")
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
