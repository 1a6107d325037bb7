package handover_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/handover"
)

// TestMessagesAreRefused names what is wrong with a message.
func TestMessagesAreRefused(t *testing.T) {
	entry := `{"name":"web","network":"tcp","address":":80"}`
	for packet, want := range map[string]string{
		``:                                  "no JSON",
		`[]`:                                "no JSON",
		`{"type":"hello"`:                   "no JSON",
		`{"type":1}`:                        "no JSON",
		`{}`:                                `the type ""`,
		`{"type":"goodbye"}`:                `the type "goodbye"`,
		`{"type":"state"}`:                  "has no state",
		`{"type":"hello","versions":[1.5]}`: "no JSON",
		`{"type":"sockets","sockets":[` + entry + strings.Repeat(","+entry, 64) + `]}`:      "65 sockets, more than 64",
		`{"type":"sockets","sockets":[{"name":"web","network":"unix","address":"/run/x"}]}`: `the network "unix"`,
		`{"type":"hello","release":"` + strings.Repeat("x", 64<<10) + `"}`:                  "more than 65536 bytes",
	} {
		if _, err := handover.Reencode([]byte(packet)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: error %v, want %q", packet, err, want)
		}
	}
}

// FuzzMessage reads what it has written in the same way.
func FuzzMessage(f *testing.F) {
	for _, packet := range []string{
		`{"type":"hello","versions":[1],"release":"2.0.0","features":["udp"]}`,
		`{"type":"refuse","reason":"busy"}`,
		`{"type":"sockets","sockets":[{"name":"web","network":"tcp","address":":80"}]}`,
		`{"type":"state","state":{"kind":"tickets","version":1,"part":"a2V5cw==","last":true}}`,
		`{"type":"started","pid":4711}`,
		`{"TYPE":"alive","type":null}`,
		`{"type":"state","state":{"part":""}}`,
		"{\"type\":\"refuse\",\"reason\":\"\xff\"}",
	} {
		f.Add([]byte(packet))
	}
	f.Fuzz(func(t *testing.T, packet []byte) {
		once, err := handover.Reencode(packet)
		if err != nil {
			return
		}
		twice, err := handover.Reencode(once)
		if err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%q is written as %q, and then as %q, error %v", packet, once, twice, err)
		}
	})
}
