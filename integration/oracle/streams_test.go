package oracle

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// proveStreams sends every stream through Sluice to an HTTP/1.1 backend, which gets one well-formed request or none.
func proveStreams(t *testing.T, own stack) {
	cases := streams()
	type result struct {
		outcome

		answer string
	}
	results := make([]result, len(cases))
	indices := make(chan int, len(cases))
	for i := range cases {
		indices <- i
	}
	close(indices)
	var under sync.WaitGroup
	for _, lane := range own.lanes {
		under.Go(func() {
			for i := range indices {
				results[i].answer = cases[i].ask(t.Context(), lane)
				results[i].pending = lane.backend.settle(silence)
				results[i].seen, results[i].broken = lane.backend.take()
				results[i].next = lane.next(t.Context())
			}
		})
	}
	under.Wait()
	for i, one := range cases {
		t.Run(one.name, func(t *testing.T) { one.prove(t, results[i].answer, results[i].outcome) })
	}
}

func (s stream) prove(t *testing.T, answer string, o outcome) {
	var forwarded string
	for _, m := range o.seen {
		m.proveSent(t)
		if hosts := m.values("Host"); !slices.Equal(hosts, []string{cmp.Or(s.host, "any.test")}) {
			t.Errorf("the backend saw Host %q", hosts)
		}
		forwarded += fmt.Sprintf("%s %s %s", m.method, m.target, m.body)
	}
	if forwarded != s.forwarded {
		t.Errorf("the backend saw %q, want %q", forwarded, s.forwarded)
	}
	if (answer == strconv.Itoa(http.StatusOK)) != (s.forwarded != "") {
		t.Errorf("the client got %q", answer)
	}
	if len(o.broken)+len(o.pending) > 0 {
		t.Errorf("the backend got what is no request: %q, and waits behind %q", o.broken, o.pending)
	}
	if o.next != answerTo("GET", "/next") {
		t.Errorf("the next client got: %s", o.next)
	}
}

// ask sends the stream on a connection of its own, and returns the status or how it ended without one.
func (s stream) ask(ctx context.Context, l lane) string {
	conn, err := new(net.Dialer).DialContext(ctx, l.network, l.address)
	if err != nil {
		return err.Error()
	}
	defer conn.Close() //nolint:errcheck // Everything was read.
	_ = conn.SetDeadline(time.Now().Add(timeout))
	var sent bytes.Buffer
	sent.WriteString(http2.ClientPreface)
	framer := http2.NewFramer(&sent, conn)
	framer.AllowIllegalWrites = true
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	s.write(framer, &block, encoder)
	if _, err := conn.Write(sent.Bytes()); err != nil {
		return err.Error()
	}
	return readStream(framer)
}

// write writes all frames, into memory.
func (s stream) write(framer *http2.Framer, block *bytes.Buffer, encoder *hpack.Encoder) {
	encode := func(fields []string) []byte {
		block.Reset()
		for i := 0; i+1 < len(fields); i += 2 {
			_ = encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}) // Into memory, as all of this.
		}
		return bytes.Clone(block.Bytes())
	}
	headers := func(fields []string, last bool) {
		const most = 16 << 10
		fragment := encode(fields)
		rest := fragment[min(most, len(fragment)):]
		_ = framer.WriteHeaders(http2.HeadersFrameParam{
			StreamID: 1, BlockFragment: fragment[:len(fragment)-len(rest)], EndHeaders: len(rest) == 0, EndStream: last,
		})
		for len(rest) > 0 {
			n := min(most, len(rest))
			_ = framer.WriteContinuation(1, n == len(rest), rest[:n])
			rest = rest[n:]
		}
	}
	_ = framer.WriteSettings()
	headers(s.head, s.body == "" && s.trailer == nil && !s.open)
	if s.body != "" || s.open {
		_ = framer.WriteData(1, s.trailer == nil, []byte(s.body))
	}
	if s.trailer != nil {
		headers(s.trailer, true)
	}
}

// readStream reads until the stream has ended.
func readStream(framer *http2.Framer) string {
	status := ""
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return "the end: " + err.Error()
		}
		switch frame := frame.(type) {
		case *http2.MetaHeadersFrame:
			if got := frame.PseudoValue("status"); status == "" && got != "100" {
				status = got
			}
			if frame.StreamEnded() {
				return status
			}
		case *http2.DataFrame:
			if frame.StreamEnded() {
				return status
			}
		case *http2.RSTStreamFrame:
			return "reset: " + frame.ErrCode.String()
		case *http2.GoAwayFrame:
			return "goaway: " + frame.ErrCode.String()
		}
	}
}
