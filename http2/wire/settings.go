package wire

import "encoding/binary"

// SettingID is the identifier of a setting.
type SettingID uint16

// The settings of RFC 9113, section 6.5.2, RFC 8441, section 3, and RFC 9218, section 2.1.
const (
	HeaderTableSize       SettingID = 0x1
	EnablePush            SettingID = 0x2
	MaxConcurrentStreams  SettingID = 0x3
	InitialWindowSize     SettingID = 0x4
	MaxFrameSize          SettingID = 0x5
	MaxHeaderListSize     SettingID = 0x6
	EnableConnectProtocol SettingID = 0x8
	NoRFC7540Priorities   SettingID = 0x9
)

// settingBytes is the length of a setting in SETTINGS.
const settingBytes = 6

// Setting is one setting.
type Setting struct {
	ID    SettingID
	Value uint32
}

// AppendSettings appends SETTINGS.
func AppendSettings(b []byte, settings ...Setting) []byte {
	b = AppendHeader(b, settingBytes*len(settings), Settings, 0, 0)
	for _, one := range settings {
		b = binary.BigEndian.AppendUint16(b, uint16(one.ID))
		b = binary.BigEndian.AppendUint32(b, one.Value)
	}
	return b
}

// EachSetting calls apply with each setting of a payload in its order, until one fails. It checks the frame, and values
// that RFC 9113 bounds.
func EachSetting(h Header, payload []byte, apply func(Setting) error) error {
	switch {
	case h.Stream != 0:
		return Fault(ProtocolError, "SETTINGS on a stream (section 6.5)")
	case h.Flags.Has(Ack) && len(payload) > 0:
		return Fault(FrameSizeError, "an acknowledgement of SETTINGS with a payload (section 6.5)")
	case len(payload)%settingBytes != 0:
		return Fault(FrameSizeError, "SETTINGS whose length is no multiple of 6 (section 6.5)")
	}
	for ; len(payload) > 0; payload = payload[settingBytes:] {
		one := Setting{SettingID(binary.BigEndian.Uint16(payload)), binary.BigEndian.Uint32(payload[2:])}
		if err := one.check(); err != nil {
			return err
		}
		if err := apply(one); err != nil {
			return err
		}
	}
	return nil
}

func (s Setting) check() error {
	switch s.ID {
	case EnablePush, EnableConnectProtocol, NoRFC7540Priorities:
		if s.Value > 1 {
			return Fault(ProtocolError, "a setting that is neither 0 nor 1 (section 6.5.2)")
		}
	case InitialWindowSize:
		if s.Value > MaxWindow {
			return Fault(FlowControlError, "SETTINGS_INITIAL_WINDOW_SIZE above 2^31-1 (section 6.5.2)")
		}
	case MaxFrameSize:
		if s.Value < MinMaxFrame || s.Value > MaxMaxFrame {
			return Fault(ProtocolError, "SETTINGS_MAX_FRAME_SIZE out of range (section 6.5.2)")
		}
	case HeaderTableSize, MaxConcurrentStreams, MaxHeaderListSize:
	}
	return nil
}
