package h3_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/ipv4"

	"github.com/sluiceproxy/sluice/entrypoint/h3"
)

// message returns a packet as it is read from a socket.
func message(client string, datagram []byte) ipv4.Message {
	m := ipv4.Message{Buffers: [][]byte{make([]byte, 1452)}, OOB: make([]byte, 128), NN: 3}
	copy(m.OOB, "oob")
	m.N = copy(m.Buffers[0], datagram)
	m.Addr = net.UDPAddrFromAddrPort(netip.MustParseAddrPort(client))
	return m
}

// short and long return packets with a short and with a long header.
func short(id []byte) []byte { return append(append([]byte{0x41}, id...), "payload"...) }

func long(number byte, version uint32, id []byte) []byte {
	packet := binary.BigEndian.AppendUint32([]byte{0xc0 | number<<4}, version)
	return append(append(append(packet, byte(len(id))), id...), "\x00payload"...)
}

// next returns the successor of a process.
func next(t *testing.T, p *h3.Process) *h3.Process {
	t.Helper()
	state, err := p.Export()
	if err != nil {
		t.Fatal(err)
	}
	successor, err := h3.NewSuccessor(state)
	if err != nil {
		t.Fatal(err)
	}
	return successor
}

// open returns the two ends of a feed, which are closed with the test.
func open(t *testing.T) (source, sink *net.UnixConn) {
	t.Helper()
	source, sink, err := h3.OpenFeed()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = source.Close()
		_ = sink.Close()
	})
	return source, sink
}

// came returns the next packet of a feed, or "" where none comes within a time.
func came(t *testing.T, source *net.UnixConn, within time.Duration) string {
	t.Helper()
	_ = source.SetReadDeadline(time.Now().Add(within))
	packet := make([]byte, 4096)
	n, err := source.Read(packet)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return ""
	}
	m := message("192.0.2.9:9", nil)
	if err != nil || !h3.Unpack(packet[:n], &m) {
		t.Fatalf("%d bytes have come, error %v", n, err)
	}
	return fmt.Sprintf("%s %s %s", m.Addr, m.OOB[:m.NN], m.Buffers[0][:m.N])
}

// TestRoutes decides where packets go.
func TestRoutes(t *testing.T) {
	t.Parallel()
	const client, stranger = "192.0.2.1:1", "[2001:db8::2]:2"
	first := h3.NewProcess()
	second := next(t, first)
	third := next(t, second)
	forged := first.Identifier()
	forged[1]++
	drawn := bytes.Repeat([]byte{byte(first.Generation())}, 12)
	for name, test := range map[string]struct {
		client   string
		datagram []byte
		to       string
	}{
		"short header":                    {stranger, short(first.Identifier()), "first"},
		"short header of another process": {client, short(second.Identifier()), "second"},
		"short header of this process":    {client, short(third.Identifier()), ""},
		"short header of no process":      {client, short(forged), ""},
		"short header, cut":               {client, short(first.Identifier())[:8], ""},
		"no QUIC":                         {client, append([]byte{0}, first.Identifier()...), ""},
		"empty":                           {client, nil, ""},
		"Handshake":                       {stranger, long(2, 1, first.Identifier()), "first"},
		"Handshake of version 2":          {stranger, long(3, 0x6b3343cf, second.Identifier()), "second"},
		"Handshake, cut":                  {client, long(2, 1, first.Identifier())[:13], ""},
		"Handshake, longer":               {client, long(2, 1, append(first.Identifier(), 1)), ""},
		"Initial of a client in between":  {stranger, long(0, 1, drawn), "first"},
		"0-RTT of a client in between":    {client, long(1, 1, drawn), "first"},
		"Initial of version 2":            {client, long(1, 0x6b3343cf, drawn), "first"},
		"0-RTT of version 2":              {client, long(2, 0x6b3343cf, drawn), "first"},
		"Initial with an answer":          {client, long(0, 1, first.Identifier()), "first"},
		"Initial of a new connection":     {client, long(0, 1, drawn[1:]), ""},
		"Initial after Retry":             {stranger, long(0, 1, first.Identifier()), ""},
		"Initial with one of another":     {client, long(0, 1, second.Identifier()), ""},
		"Initial with one of no process":  {client, long(0, 1, forged), ""},
		"Retry":                           {client, long(3, 1, first.Identifier()), ""},
		"Retry of version 2":              {client, long(0, 0x6b3343cf, first.Identifier()), ""},
		"an unknown version":              {client, long(2, 0x1a2a3a4a, first.Identifier()), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			toFirst, firstSink := open(t)
			toSecond, secondSink := open(t)
			deliver := h3.Router(third, map[int]net.Conn{first.Generation(): firstSink, second.Generation(): secondSink},
				[]h3.Opening{{
					Generation: byte(first.Generation()), Drawn: [][]byte{drawn},
					Clients: []netip.AddrPort{netip.MustParseAddrPort(client)},
				}}, nil)
			own := short(third.Identifier())
			batch := []ipv4.Message{message(stranger, nil), message(test.client, test.datagram), message(stranger, own)}
			memory := &batch[1].Buffers[0][0]
			kept := deliver(batch)
			want := 3
			passed := fmt.Sprintf("%s oob %s", test.client, test.datagram)
			for to, source := range map[string]*net.UnixConn{"first": toFirst, "second": toSecond} {
				within := time.Millisecond
				if to == test.to {
					within = timeout // A short time could be over before Read begins.
				}
				switch got := came(t, source, within); {
				case to == test.to && got != passed:
					t.Errorf("to %s: got %q", to, got)
				case to != test.to && got != "":
					t.Errorf("to %s: %q", to, got)
				case to == test.to:
					want = 2
				}
			}
			last := batch[want-1]
			if kept != want || !bytes.Equal(last.Buffers[0][:last.N], own) || last.Addr.String() != stranger {
				t.Errorf("%d packets are kept, the last is %q", kept, last.Buffers[0][:last.N])
			}
			if memory != &batch[1].Buffers[0][0] {
				t.Error("a buffer was moved")
			}
		})
	}
}

// TestFeedIsFull drops and counts packets that a process does not read, and keeps them when it has ended.
func TestFeedIsFull(t *testing.T) {
	t.Parallel()
	first := h3.NewProcess()
	second := next(t, first)
	source, sink := open(t)
	dropped := 0
	deliver := h3.Router(second, map[int]net.Conn{first.Generation(): sink}, nil, func() { dropped++ })
	packet := func() []ipv4.Message {
		return []ipv4.Message{message("192.0.2.1:1", append(short(first.Identifier()), make([]byte, 1200)...))}
	}
	sent := 0
	for ; dropped < 3; sent++ {
		if deliver(packet()) != 0 {
			t.Fatal("a packet is kept")
		}
	}
	if came(t, source, timeout) == "" {
		t.Error("nothing has come")
	}
	if deliver(packet()); dropped != 3 {
		t.Errorf("%d of %d packets were dropped", dropped, sent)
	}
	_ = source.Close()
	for range 2 {
		if deliver(packet()) != 1 {
			t.Error("a packet was passed on to a process that has ended")
		}
	}
}

// TestFeedsAreFew closes the feeds of the oldest processes, and that of a process whose generation is the own one.
func TestFeedsAreFew(t *testing.T) {
	t.Parallel()
	process := h3.NewProcess()
	feeds, sources, processes := map[int]net.Conn{}, map[int]*net.UnixConn{}, map[int]*h3.Process{}
	for range 12 {
		source, sink := open(t)
		feeds[process.Generation()], sources[process.Generation()], processes[process.Generation()] = sink, source, process
		process = next(t, process)
	}
	source, sink := open(t)
	feeds[process.Generation()], sources[process.Generation()], processes[process.Generation()] = sink, source, process
	deliver := h3.Router(process, feeds, nil, nil)
	var passed []int
	for age := range 13 {
		generation := int(byte(process.Generation() - age))
		if deliver([]ipv4.Message{message("192.0.2.1:1", short(processes[generation].Identifier()))}) == 0 {
			passed = append(passed, age)
		}
	}
	if !slices.Equal(passed, []int{1, 2, 3, 4, 5, 6, 7, 8}) {
		t.Errorf("packets are passed on to the processes %v before", passed)
	}
}

// TestFeedPackets reads what was packed, and nothing that is cut.
func TestFeedPackets(t *testing.T) {
	t.Parallel()
	for _, client := range []string{"192.0.2.1:443", "[::ffff:192.0.2.1]:443", "[fe80::1%eth0]:65535"} {
		m := message(client, []byte("p"))
		packet := h3.Pack(&m)
		got := message("192.0.2.9:9", nil)
		if !h3.Unpack(packet, &got) || got.Addr.String() != m.Addr.String() || got.N != 1 || got.Buffers[0][0] != 'p' ||
			string(got.OOB[:got.NN]) != "oob" {
			t.Errorf("%s: got %v", client, got)
		}
		for n := range packet {
			if h3.Unpack(packet[:n], &got) {
				t.Errorf("%s: %d bytes of %d are a packet", client, n, len(packet))
			}
		}
		packet[0]++
		if h3.Unpack(packet, &got) {
			t.Errorf("%s: another version is a packet", client)
		}
	}
}

// TestSuccessor has the keys of the process before, and the next generation.
func TestSuccessor(t *testing.T) {
	t.Parallel()
	p := h3.NewProcess()
	state, err := p.Export()
	if err != nil {
		t.Fatal(err)
	}
	after, err := next(t, p).Export()
	if err != nil {
		t.Fatal(err)
	}
	_, keys, _ := strings.Cut(string(state), ",")
	_, same, _ := strings.Cut(string(after), ",")
	if keys != same || keys == "" {
		t.Error("it has other keys")
	}
	if got, want := next(t, p).Generation(), (p.Generation()+1)%256; got != want {
		t.Errorf("generation %d, want %d", got, want)
	}
	if text := fmt.Sprintf("%v %+v %#v", p, p, p); strings.Count(text, "generation") != 3 || len(text) > 60 {
		t.Errorf("keys are in the text %q", text)
	}
	for _, bad := range []string{
		"", "{}", `{"generation": 300}`, strings.Replace(string(state), "=", "", 1), strings.Replace(string(state), `Key":"`, `Key":"AAAA`, 1),
	} {
		if _, err := h3.NewSuccessor([]byte(bad)); err == nil || !strings.Contains(err.Error(), "of HTTP/3") {
			t.Errorf("%q: error %v", bad, err)
		}
	}
}
