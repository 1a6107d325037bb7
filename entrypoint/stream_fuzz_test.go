package entrypoint_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/router/tcp"
)

// The requests for encryption of clients of PostgreSQL.
const (
	sslRequest    = "\x00\x00\x00\x08\x04\xd2\x16\x2f"
	gssencRequest = "\x00\x00\x00\x08\x04\xd2\x16\x30"
)

const (
	// mostHello is how much is read of a ClientHello.
	mostHello = 72 << 10
	// mostRead is how much may be read to find a router: that, behind two requests of PostgreSQL and the first bytes.
	mostRead = mostHello + 1024 + 2*len(sslRequest)
)

// TestDeadlinesAreLifted has no deadline left on connections of TCP routers, whatever was read before.
func TestDeadlinesAreLifted(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	hello := string(helloOf(t, "db.example"))
	for name, turns := range map[string][]string{
		"plain":                   {"startup"},
		"TLS":                     {hello},
		"SSLRequest":              {sslRequest, hello},
		"GSSENCRequest and plain": {gssencRequest, "startup"},
		"both and TLS":            {gssencRequest, sslRequest, hello},
		"GSSENCRequest and TLS":   {gssencRequest, hello},
	} {
		s.needs = tcp.NeedsPlain | tcp.NeedsHello
		var sent script
		for _, turn := range turns {
			sent = append(sent, [][]byte{[]byte(turn)})
		}
		got := s.play(sent)
		if !got.taken || got.deadline || string(got.passed) != turns[len(turns)-1] {
			t.Errorf("%s: taken %t, deadline %t, %d bytes passed", name, got.taken, got.deadline, len(got.passed))
		}
	}
}

// TestRefusalsOfGSSAPI refuses encryption by GSSAPI once: a client cannot keep a connection open by requesting it
// again.
func TestRefusalsOfGSSAPI(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.needs = tcp.NeedsPlain | tcp.NeedsHello
	var turns script
	for range 100 {
		turns = append(turns, [][]byte{[]byte(gssencRequest)})
	}
	if got := s.play(turns); got.taken || got.read > 2*len(gssencRequest) {
		t.Errorf("%d requests were read, taken %t", got.read/len(gssencRequest), got.taken)
	}
}

// FuzzFirstBytes sends any bytes in any pieces, behind requests of PostgreSQL. What a TCP router gets is all that was
// sent and not answered; the pieces change neither the router nor the server name; no more than the limit is read to
// find it; no deadline is left; and a TLS server finds the server name in the bytes by which they were routed.
func FuzzFirstBytes(f *testing.F) {
	s := newStage(f)
	record := helloOf(f, "db.example", "postgresql", "h2")
	everything := byte(tcp.NeedsPlain | tcp.NeedsHello)
	for _, sent := range []string{
		string(record), string(helloOf(f, "DB.Example")), string(record) + "early", string(inSmallRecords(record, 7)),
		string(record[:40]), "\x16", "\x16\x03\x01\x00\x05hello",
		"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "PRI", "SET a b\r\n", sslRequest[:5], sslRequest, gssencRequest + "x", "", strings.Repeat("A", 2000),
	} {
		f.Add([]byte(sent), []byte{0, 4, 0}, "", everything, byte(0))
		f.Add([]byte(sent), []byte{0, 0, 200}, "s", everything, byte(0))
		f.Add([]byte(sent), []byte{0}, "gs", everything, byte(1))
		f.Add([]byte(sent), []byte{2}, "", byte(tcp.NeedsPlain|tcp.NeedsFirst), byte(0))
		f.Add([]byte(sent), []byte{2}, "", byte(tcp.NeedsUnread|tcp.NeedsPlain), byte(1))
	}
	f.Fuzz(func(t *testing.T, sent, cuts []byte, requests string, needs, refused byte) {
		s.needs, s.refused = tcp.Needs(needs), nil
		for _, stage := range []tcp.Stage{tcp.Unread, tcp.Plain, tcp.TLS, tcp.StartTLS} {
			if refused>>stage&1 != 0 {
				s.refused = append(s.refused, stage)
			}
		}
		whole := s.play(written(requests, sent, nil))
		checkOutcome(t, requests, sent, whole)
		cut := s.play(written(requests, sent, cuts))
		checkOutcome(t, requests, sent, cut)
		if beginsWithRequest(sent) {
			return // Whether bytes behind a request came before its answer depends on the pieces.
		}
		if !whole.same(cut) {
			t.Fatalf("%q behind %q: got %+v as a whole, and %+v in pieces of %v", sent, requests, whole, cut, cuts)
		}
	})
}

// written returns the script of requests, s for SSLRequest and g for GSSENCRequest, and what follows.
func written(requests string, sent, cuts []byte) (turns script) {
	for _, request := range requests[:min(len(requests), 4)] {
		switch request {
		case 's':
			turns = append(turns, pieces([]byte(sslRequest), cuts))
		case 'g':
			turns = append(turns, pieces([]byte(gssencRequest), cuts))
		}
	}
	return append(turns, pieces(sent, cuts))
}

// beginsWithRequest reports whether bytes begin with a request of PostgreSQL and go on.
func beginsWithRequest(sent []byte) bool {
	return bytes.HasPrefix(sent, []byte(sslRequest)) || bytes.HasPrefix(sent, []byte(gssencRequest))
}

func checkOutcome(t *testing.T, requests string, sent []byte, got *outcome) {
	t.Helper()
	if !got.taken {
		return
	}
	all := bytes.Join(slices.Concat(written(requests, sent, nil)...), nil)
	answered := got.answered * len(sslRequest)
	if want := all[:got.read][answered:]; !bytes.Equal(got.passed, want) {
		t.Fatalf("%q behind %q: the router gets %q, want %q", sent, requests, got.passed, want)
	}
	if got.before > mostRead {
		t.Fatalf("%d bytes were read to find the router", got.before)
	}
	if got.deadline {
		t.Fatalf("%q behind %q: a deadline is left", sent, requests)
	}
	if got.stages[0] == tcp.Unread && len(got.stages) == 1 && got.before > 0 {
		t.Fatalf("%d bytes were read before the server could speak", got.before)
	}
	if at := got.stages[len(got.stages)-1]; at == tcp.TLS || at == tcp.StartTLS {
		name, protocols, seen := seenBy(t, got.passed)
		if seen && (name != got.name || !slices.Equal(protocols, got.protocols)) {
			t.Fatalf("%q: routed by %q and %q, and the server finds %q and %q", got.passed, got.name, got.protocols, name,
				protocols)
		}
	}
}

// seenBy returns the server name and the protocols that a TLS server finds in bytes, if it takes them for a
// ClientHello.
func seenBy(t *testing.T, sent []byte) (name string, protocols []string, seen bool) {
	t.Helper()
	config := &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(info *tls.ClientHelloInfo) (*tls.Config, error) {
			seen = true
			name, protocols = strings.TrimSuffix(strings.ToLower(info.ServerName), "."), info.SupportedProtos
			return nil, errors.New("it has been read")
		},
	}
	conn := &scripted{turns: script{pieces(bytes.Clone(sent), nil)}, closed: make(chan struct{})}
	_ = tls.Server(net.Conn(conn), config).HandshakeContext(context.Background())
	return name, protocols, seen
}

// FuzzClientHello sends a ClientHello in records of any size and any pieces: the router is found by the same server
// name and the same protocols as that of the same ClientHello in one record.
func FuzzClientHello(f *testing.F) {
	s := newStage(f)
	s.needs = tcp.NeedsHello
	f.Add("db.example", "postgresql,h2", uint16(1), []byte{0, 3})
	f.Add("A.Example.", "", uint16(100), []byte{})
	f.Add("192.0.2.1", strings.Repeat("n", 255), uint16(512), []byte{4, 0, 250})
	f.Add(strings.Repeat("a.", 120)+"test", "x", uint16(0), []byte{200, 0, 0, 0, 0, 0})
	f.Add("too.long", strings.Repeat(strings.Repeat("n", 200)+",", 80)+"x", uint16(1), []byte{})
	f.Fuzz(func(t *testing.T, name, protocols string, size uint16, cuts []byte) {
		var offered []string
		if protocols != "" {
			offered = strings.Split(protocols, ",")
		}
		record := helloOf(t, name, offered...)
		whole := s.play(script{pieces(record, nil)})
		divided := inSmallRecords(record, int(size))
		cut := s.play(script{pieces(divided, cuts)})
		if !cut.taken && cut.read > mostRead || cut.before > mostRead {
			t.Fatalf("%d bytes were read of a ClientHello", cut.read)
		}
		if len(divided) > mostHello {
			if cut.taken {
				t.Fatalf("a ClientHello of %d bytes is taken", len(divided))
			}
			return
		}
		if !whole.same(cut) {
			t.Fatalf("%q, %q: got %+v in one record, and %+v in records of %d", name, protocols, whole, cut, size)
		}
		if cut.taken && !bytes.Equal(cut.passed, divided) {
			t.Fatalf("the router gets %q, want %q", cut.passed, divided)
		}
		if len(record) > 0 && (!whole.taken || !slices.Equal(whole.protocols, offered)) {
			t.Fatalf("%q, %q: got %+v", name, protocols, whole)
		}
	})
}
