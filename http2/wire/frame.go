package wire

import "encoding/binary"

// Type is the type of a frame.
type Type uint8

// The types of RFC 9113, section 6, and of RFC 9218, section 7.
const (
	Data           Type = 0x0
	Headers        Type = 0x1
	Priority       Type = 0x2
	RSTStream      Type = 0x3
	Settings       Type = 0x4
	PushPromise    Type = 0x5
	Ping           Type = 0x6
	GoAway         Type = 0x7
	WindowUpdate   Type = 0x8
	Continuation   Type = 0x9
	PriorityUpdate Type = 0x10
)

// Flags are the flags of a frame.
type Flags uint8

// The flags. Ack belongs to SETTINGS and PING, and has the value of EndStream.
const (
	EndStream   Flags = 0x1
	Ack         Flags = 0x1
	EndHeaders  Flags = 0x4
	Padded      Flags = 0x8
	HasPriority Flags = 0x20
)

// Has reports whether a flag is set.
func (f Flags) Has(flag Flags) bool { return f&flag != 0 }

const (
	// HeaderBytes is the length of a frame's header.
	HeaderBytes = 9
	// MinMaxFrame is the least that SETTINGS_MAX_FRAME_SIZE may be, and its default.
	MinMaxFrame = 1 << 14
	// MaxMaxFrame is the most that SETTINGS_MAX_FRAME_SIZE may be.
	MaxMaxFrame = 1<<24 - 1
	// DefaultWindow is the window of a connection, and of a stream before SETTINGS_INITIAL_WINDOW_SIZE.
	DefaultWindow = 1<<16 - 1
	// MaxWindow is the largest window (section 6.9.1).
	MaxWindow = 1<<31 - 1
	// MaxStream is the largest identifier of a stream.
	MaxStream = 1<<31 - 1
	// PriorityBytes is the length of a priority in HEADERS and PRIORITY, which RFC 9113 deprecates.
	PriorityBytes = 5
	// PingBytes is the length of the payload of PING.
	PingBytes = 8
)

// Preface is what a client sends first (section 3.4).
const Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// Header is the header of a frame.
type Header struct {
	// Length is that of the payload.
	Length int
	Type   Type
	Flags  Flags
	// Stream is the identifier of the stream, or 0 for the connection.
	Stream uint32
}

// ReadHeader reads the header from the first HeaderBytes of b.
func ReadHeader(b []byte) Header {
	_ = b[HeaderBytes-1]
	return Header{
		Length: int(b[0])<<16 | int(b[1])<<8 | int(b[2]), Type: Type(b[3]), Flags: Flags(b[4]),
		Stream: binary.BigEndian.Uint32(b[5:]) & MaxStream,
	}
}

// AppendHeader appends the header of a frame.
func AppendHeader(b []byte, length int, kind Type, flags Flags, stream uint32) []byte {
	return append(b, byte(length>>16), byte(length>>8), byte(length), byte(kind), byte(flags),
		byte(stream>>24), byte(stream>>16), byte(stream>>8), byte(stream))
}

// AppendReset appends RST_STREAM.
func AppendReset(b []byte, stream uint32, code Code) []byte {
	b = AppendHeader(b, 4, RSTStream, 0, stream)
	return binary.BigEndian.AppendUint32(b, uint32(code))
}

// AppendWindowUpdate appends WINDOW_UPDATE.
func AppendWindowUpdate(b []byte, stream uint32, increment int32) []byte {
	b = AppendHeader(b, 4, WindowUpdate, 0, stream)
	return binary.BigEndian.AppendUint32(b, uint32(increment)) //nolint:gosec // above 0
}

// AppendPing appends PING.
func AppendPing(b []byte, flags Flags, payload [PingBytes]byte) []byte {
	b = AppendHeader(b, PingBytes, Ping, flags, 0)
	return append(b, payload[:]...)
}

// AppendGoAway appends GOAWAY. last is the highest identifier of a stream that was or may be processed.
func AppendGoAway(b []byte, last uint32, code Code) []byte {
	b = AppendHeader(b, 8, GoAway, 0, 0)
	b = binary.BigEndian.AppendUint32(b, last)
	return binary.BigEndian.AppendUint32(b, uint32(code))
}

// AppendSettingsAck appends the acknowledgement of SETTINGS.
func AppendSettingsAck(b []byte) []byte { return AppendHeader(b, 0, Settings, Ack, 0) }

// Unpad returns the payload of DATA or HEADERS without its padding (section 6.1).
func Unpad(h Header, payload []byte) ([]byte, error) {
	if !h.Flags.Has(Padded) {
		return payload, nil
	}
	if len(payload) < 1 {
		return nil, Fault(FrameSizeError, "a padded frame without the length of its padding (section 6.1)")
	}
	padding := int(payload[0])
	if payload = payload[1:]; padding > len(payload) {
		return nil, Fault(ProtocolError, "padding that is longer than the frame (section 6.1)")
	}
	return payload[:len(payload)-padding], nil
}
