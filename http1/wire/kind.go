package wire

import (
	"cmp"
	"strings"
)

// FieldKind classifies the fields of a request that a client does not simply copy.
type FieldKind uint8

// The kinds of fields.
const (
	// PlainField is any other field.
	PlainField FieldKind = iota
	// FramingField frames the message or names its target: the client alone writes it.
	FramingField
	// ConnectionField is Connection.
	ConnectionField
	// UpgradeField is Upgrade.
	UpgradeField
	// SettingsField is HTTP2-Settings (RFC 7540, section 3.2.1).
	SettingsField
	// ExpectField is Expect.
	ExpectField
	// HopField concerns one connection only (RFC 9110, section 7.6.1), and so does TEField, which is TE.
	HopField
	TEField
)

// KindOf returns the kind of a field. It looks at names in any case: maps that were not filled by Set hold every
// spelling, and so do endpoints.
func KindOf(name string) FieldKind {
	switch len(name) {
	case len("TE"):
		return kindIf(name, "TE", TEField)
	case len("Host"):
		return kindIf(name, "Host", FramingField)
	case len("Expect"):
		return kindIf(name, "Expect", ExpectField)
	case len("Trailer"):
		return cmp.Or(kindIf(name, "Trailer", FramingField), kindIf(name, "Upgrade", UpgradeField))
	case len("Connection"):
		return cmp.Or(kindIf(name, "Connection", ConnectionField), kindIf(name, "Keep-Alive", HopField))
	case len("Content-Length"):
		return cmp.Or(kindIf(name, "Content-Length", FramingField), kindIf(name, "HTTP2-Settings", SettingsField))
	case len("Proxy-Connection"):
		return kindIf(name, "Proxy-Connection", HopField)
	case len("Transfer-Encoding"):
		return kindIf(name, "Transfer-Encoding", FramingField)
	case len("Proxy-Authenticate"):
		return kindIf(name, "Proxy-Authenticate", HopField)
	case len("Proxy-Authorization"):
		return kindIf(name, "Proxy-Authorization", HopField)
	}
	return PlainField
}

func kindIf(name, wanted string, kind FieldKind) FieldKind {
	if name[0]|0x20 == wanted[0]|0x20 && strings.EqualFold(name, wanted) {
		return kind
	}
	return PlainField
}
