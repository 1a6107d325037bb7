package wire

import (
	"encoding/binary"
	"errors"

	"golang.org/x/net/http2/hpack"

	http1wire "github.com/sluiceproxy/sluice/http1/wire"
)

// PadField returns the length of the field Pad Length at the beginning of DATA: 1 where it is padded, otherwise 0.
func (h Header) PadField() (int, error) {
	switch {
	case !h.Flags.Has(Padded):
		return 0, nil
	case h.Length < 1:
		return 0, Fault(FrameSizeError, "a padded frame without the length of its padding (section 6.1)")
	}
	return 1, nil
}

// Content returns how many bytes of content DATA has, and how many of padding behind them. payload begins with the
// field Pad Length, if there is one.
func (h Header) Content(payload []byte) (content, padding int, err error) {
	if !h.Flags.Has(Padded) {
		return h.Length, 0, nil
	}
	content, padding = h.Length-1, int(payload[0])
	if padding > content {
		return 0, 0, Fault(ProtocolError, "padding that is longer than the frame (section 6.1)")
	}
	return content - padding, padding, nil
}

// WithoutPriority returns the payload of HEADERS behind the priority, if it has one (section 6.2). With an error of the
// stream, which depends on itself, it returns the payload too; with one of the connection nil.
func WithoutPriority(h Header, payload []byte) ([]byte, error) {
	if !h.Flags.Has(HasPriority) {
		return payload, nil
	}
	if len(payload) < PriorityBytes {
		return nil, Fault(FrameSizeError, "HEADERS without the priority that they announce (section 6.2)")
	}
	if on := binary.BigEndian.Uint32(payload) & MaxStream; on == h.Stream {
		return payload[PriorityBytes:], StreamFault(h.Stream, ProtocolError,
			"a stream that depends on itself (RFC 7540, section 5.3.1)")
	}
	return payload[PriorityBytes:], nil
}

// ReadReset reads the payload of RST_STREAM.
func ReadReset(payload []byte) (Code, error) {
	if len(payload) != 4 {
		return 0, Fault(FrameSizeError, "RST_STREAM whose length is not 4 (section 6.4)")
	}
	return Code(binary.BigEndian.Uint32(payload)), nil
}

// ReadPing reads the payload of PING.
func ReadPing(h Header, payload []byte) (data [PingBytes]byte, err error) {
	switch {
	case h.Stream != 0:
		return data, Fault(ProtocolError, "PING on a stream (section 6.7)")
	case len(payload) != PingBytes:
		return data, Fault(FrameSizeError, "PING whose length is not 8 (section 6.7)")
	}
	return [PingBytes]byte(payload), nil
}

// ReadWindowUpdate reads the increment of WINDOW_UPDATE, which may be 0: what that ends depends on the stream.
func ReadWindowUpdate(payload []byte) (int64, error) {
	if len(payload) != 4 {
		return 0, Fault(FrameSizeError, "WINDOW_UPDATE whose length is not 4 (section 6.9)")
	}
	return int64(binary.BigEndian.Uint32(payload) & MaxWindow), nil
}

// Widen adds an increment to the window of a stream, or of the connection where the identifier is 0 (section 6.9.1).
func Widen(window *int64, increment int64, stream uint32) error {
	if increment == 0 {
		return StreamFault(stream, ProtocolError, "WINDOW_UPDATE of 0 (section 6.9)")
	}
	if *window += increment; *window > MaxWindow {
		return StreamFault(stream, FlowControlError, "a window above 2^31-1 (section 6.9.1)")
	}
	return nil
}

// ValidName reports whether the name of a field is a token in lower case (section 8.2.1).
func ValidName(name string) bool {
	for i := range len(name) {
		if c := name[i]; 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return http1wire.ValidToken(name)
}

// DecodingFault returns the error of the connection for a block that a decoder has refused.
func DecodingFault(err error) *Error {
	if errors.Is(err, hpack.ErrStringLength) {
		return Fault(EnhanceYourCalm, "a field that is larger than a head may be (section 10.5.1)")
	}
	return Fault(CompressionError, "a head that cannot be decoded (section 4.3): "+err.Error())
}

// Unpin has a decoder not refer to the last part of a block, which it does until the next one: it decodes a field in
// memory that is not used otherwise, and drops it. No block may be open.
func Unpin(d *hpack.Decoder, memory *[1]byte) {
	memory[0] = indexed | getIndex
	d.SetEmitEnabled(false)
	_, _ = d.Write(memory[:]) // A field of the static table is valid.
	_ = d.Close()
	d.SetEmitEnabled(true)
}
