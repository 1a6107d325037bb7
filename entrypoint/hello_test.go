package entrypoint_test

import (
	"slices"
	"testing"

	"golang.org/x/crypto/cryptobyte"

	"github.com/sluiceproxy/sluice/router/tcp"
)

// extension is an extension of a ClientHello.
type extension struct {
	kind uint16
	data []byte
}

// names returns the extension server_name with names of a type.
func names(kind uint8, all ...string) extension {
	var b cryptobyte.Builder
	b.AddUint16LengthPrefixed(func(list *cryptobyte.Builder) {
		for _, name := range all {
			list.AddUint8(kind)
			list.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) { b.AddBytes([]byte(name)) })
		}
	})
	return extension{0, b.BytesOrPanic()}
}

// offers returns the extension ALPN with protocols.
func offers(all ...string) extension {
	var b cryptobyte.Builder
	b.AddUint16LengthPrefixed(func(list *cryptobyte.Builder) {
		for _, name := range all {
			list.AddUint8LengthPrefixed(func(b *cryptobyte.Builder) { b.AddBytes([]byte(name)) })
		}
	})
	return extension{16, b.BytesOrPanic()}
}

// helloWith returns a ClientHello with extensions, and with bytes behind them, in one record.
func helloWith(behind string, all ...extension) []byte {
	var b cryptobyte.Builder
	b.AddBytes([]byte{0x16, 3, 1})
	b.AddUint16LengthPrefixed(func(record *cryptobyte.Builder) {
		record.AddUint8(1)
		record.AddUint24LengthPrefixed(func(message *cryptobyte.Builder) {
			message.AddUint16(0x0303)
			message.AddBytes(make([]byte, 32))
			message.AddBytes([]byte{0, 0, 2, 0x13, 0x01, 1, 0})
			message.AddUint16LengthPrefixed(func(list *cryptobyte.Builder) {
				for _, one := range all {
					list.AddUint16(one.kind)
					list.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) { b.AddBytes(one.data) })
				}
			})
			message.AddBytes([]byte(behind))
		})
	})
	return b.BytesOrPanic()
}

// TestHelloIsReadStrictly routes by a server name and by protocols only if no server could find others in the same
// ClientHello. All that is malformed counts as without any, and reaches the router unchanged.
func TestHelloIsReadStrictly(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.needs = tcp.NeedsHello
	name, protocols := names(0, "db.example"), offers("h2", "x")
	for title, test := range map[string]struct {
		sent      []byte
		name      string
		protocols []string
	}{
		"both":                  {helloWith("", name, protocols), "db.example", []string{"h2", "x"}},
		"unknown extensions":    {helloWith("", extension{0x0a0a, nil}, name, extension{65, []byte("?")}), "db.example", nil},
		"malformed others":      {helloWith("", name, extension{51, []byte{9}}), "db.example", nil},
		"final dot, capitals":   {helloWith("", names(0, "DB.Example.")), "db.example", nil},
		"no extensions":         {helloWith(""), "", nil},
		"name of another type":  {helloWith("", names(7, "db.example"), protocols), "", []string{"h2", "x"}},
		"two names":             {helloWith("", names(0, "db.example", "other.example")), "", nil},
		"two names, one a dot":  {helloWith("", names(0, ".", "other.example")), "", nil},
		"two extensions":        {helloWith("", name, name), "", nil},
		"two lists of protocol": {helloWith("", name, protocols, protocols), "", nil},
		"empty name":            {helloWith("", names(0, "")), "", nil},
		"no name":               {helloWith("", names(0)), "", nil},
		"empty protocol":        {helloWith("", name, offers("h2", "")), "", nil},
		"no protocol":           {helloWith("", name, offers()), "", nil},
		"bytes behind the name": {helloWith("", extension{0, append(name.data, 0)}), "", nil},
		"bytes at the end":      {helloWith("x", name), "", nil},
		"another message":       {slices.Replace(helloWith("", name), 5, 6, 2), "", nil},
		"longer than 64 KiB":    {slices.Replace(helloWith("", name), 6, 7, 2), "", nil},
		"record above 16 KiB":   {slices.Replace(helloWith("", name), 3, 5, 0x40, 0x01), "", nil},
		"another record": {
			append(inSmallRecords(helloWith("", name), 20)[:25], 0x17, 3, 3, 0, 1, 0), "", nil,
		},
	} {
		got := s.play(script{pieces(test.sent, nil)})
		if !got.taken || got.name != test.name || !slices.Equal(got.protocols, test.protocols) {
			t.Errorf("%s: got %+v, want %q and %q", title, got, test.name, test.protocols)
		}
		if string(got.passed) != string(test.sent) {
			t.Errorf("%s: the router gets %q, want %q", title, got.passed, test.sent)
		}
	}
}
