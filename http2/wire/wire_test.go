package wire_test

import (
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"

	"github.com/sluiceproxy/sluice/http2/wire"
)

// decoded returns the fields of a block, each as "name: value".
func decoded(t *testing.T, block []byte) (fields []string) {
	t.Helper()
	all, err := hpack.NewDecoder(4096, nil).DecodeFull(block)
	if err != nil {
		t.Fatalf("%x: %v", block, err)
	}
	for _, one := range all {
		fields = append(fields, one.Name+": "+one.Value)
	}
	return fields
}

// others is how many names of staticNames are in no table.
const others = 4

// staticNames are other names, and those of the static table (RFC 7541, appendix A).
func staticNames(t *testing.T) []string {
	t.Helper()
	names := []string{"x", "x-a", "grpc-status", "sec-ch-ua"}[:others]
	for index := byte(15); index <= 61; index++ {
		name, _, _ := strings.Cut(decoded(t, []byte{0x80 | index})[0], ":")
		names = append(names, name)
	}
	return names
}

// TestAppendField writes each name of the static table, in lower and in canonical case.
func TestAppendField(t *testing.T) {
	t.Parallel()
	for i, name := range staticNames(t) {
		for _, value := range []string{"", "v", strings.Repeat("v", 16), strings.Repeat("\xff", 300)} {
			want := []string{name + ": " + value, name + ": " + value}
			block := wire.AppendField(wire.AppendField(nil, name, value), http.CanonicalHeaderKey(name), value)
			if got := decoded(t, block); !slices.Equal(got, want) {
				t.Errorf("got %q", got)
			}
		}
		if n := len(wire.AppendField(nil, name, "")); n > 3 && i >= others {
			t.Errorf("%s takes %d bytes", name, n)
		}
	}
}

// TestSensitive looks at fields that intermediaries must not keep.
func TestSensitive(t *testing.T) {
	t.Parallel()
	for field, want := range map[string]bool{
		"Authorization: a": true, "Proxy-Authorization: a": true, "Set-Cookie: a": true, "Cookie: a": true,
		"Cookie: 01234567890123456789": false, "Date: a": false, "Via: a": false,
	} {
		name, value, _ := strings.Cut(field, ": ")
		all, err := hpack.NewDecoder(4096, nil).DecodeFull(wire.AppendField(nil, name, value))
		if err != nil || len(all) != 1 || all[0].Sensitive != want {
			t.Errorf("%s: %v, %v", field, all, err)
		}
	}
}

func TestAppendStatus(t *testing.T) {
	t.Parallel()
	for status := 100; status < 1000; status++ {
		want := ":status: " + string([]byte{byte('0' + status/100), byte('0' + status/10%10), byte('0' + status%10)})
		if got := decoded(t, wire.AppendStatus(nil, status)); len(got) != 1 || got[0] != want {
			t.Errorf("%d became %q", status, got)
		}
	}
}

// TestAppendTableSize sets a size that the decoder allows, and one that it does not.
func TestAppendTableSize(t *testing.T) {
	t.Parallel()
	for size, ok := range map[int]bool{0: true, 30: true, 31: true, 4096: true, 4097: false, 1 << 30: false} {
		_, err := hpack.NewDecoder(4096, nil).DecodeFull(wire.AppendTableSize(nil, size))
		if (err == nil) != ok {
			t.Errorf("%d: %v", size, err)
		}
	}
}

// TestEachSetting has settings out of their range, and frames that are none of SETTINGS.
func TestEachSetting(t *testing.T) {
	t.Parallel()
	one := func(id wire.SettingID, value uint32) string {
		return string(wire.AppendSettings(nil, wire.Setting{ID: id, Value: value})[wire.HeaderBytes:])
	}
	for name, test := range map[string]struct {
		header  wire.Header
		payload string
		want    wire.Code
	}{
		"empty":           {},
		"good":            {wire.Header{}, one(wire.InitialWindowSize, wire.MaxWindow) + one(wire.MaxFrameSize, 1<<14), 0},
		"unknown":         {wire.Header{}, one(0x99, 1<<31), 0},
		"on a stream":     {wire.Header{Stream: 1}, "", wire.ProtocolError},
		"ACK":             {wire.Header{Flags: wire.Ack}, "", 0},
		"ACK of settings": {wire.Header{Flags: wire.Ack}, one(wire.EnablePush, 0), wire.FrameSizeError},
		"length":          {wire.Header{}, "12345", wire.FrameSizeError},
		"push":            {wire.Header{}, one(wire.EnablePush, 2), wire.ProtocolError},
		"window":          {wire.Header{}, one(wire.InitialWindowSize, wire.MaxWindow+1), wire.FlowControlError},
		"small frames":    {wire.Header{}, one(wire.MaxFrameSize, 1<<14-1), wire.ProtocolError},
		"large frames":    {wire.Header{}, one(wire.MaxFrameSize, 1<<24), wire.ProtocolError},
	} {
		err := wire.EachSetting(test.header, []byte(test.payload), func(wire.Setting) error { return nil })
		fault, _ := err.(*wire.Error) //nolint:errorlint // It is not wrapped.
		if fault == nil && test.want != 0 || fault != nil && fault.Code != test.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzHead writes fields, which hpack must read as they were, and compares Canonical with textproto.
func FuzzHead(f *testing.F) {
	f.Add("Content-Type", "text/plain", 200, int64(0))
	f.Add("x-a", "\x00\xff", 999, int64(1<<62))
	f.Add("SET-COOKIE", strings.Repeat("a", 200), 304, int64(-1))
	f.Fuzz(func(t *testing.T, name, value string, status int, length int64) {
		if len(name)+len(value) > 1<<16 {
			return
		}
		status, length = 100+(status%900+900)%900, max(length, 0)
		block := wire.AppendField(wire.AppendStatus(nil, status), name, value)
		block = wire.AppendField(wire.AppendLength(block, length), http.CanonicalHeaderKey(name), value)
		got := decoded(t, block)
		if len(got) != 4 || got[1] != lower(name)+": "+value || got[3] != lower(http.CanonicalHeaderKey(name))+": "+value {
			t.Errorf("%q: %q became %q", name, value, got)
		}
		if small := lower(name); wire.Canonical(small) != textproto.CanonicalMIMEHeaderKey(small) {
			t.Errorf("%q became %q", small, wire.Canonical(small))
		}
	})
}

// lower makes ASCII letters lower case.
func lower(name string) string {
	b := []byte(name)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] += 'a' - 'A'
		}
	}
	return string(b)
}
