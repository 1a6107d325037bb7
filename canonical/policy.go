package canonical

import "strings"

// EncodedCharacters are the reserved characters that a path may contain percent-encoded, as the options
// entryPoints.*.http.encodedCharacters.*. The zero value allows none; [AllowAllEncoded] is the default of the options.
type EncodedCharacters struct {
	// AllowSlash allows %2F (allowEncodedSlash).
	AllowSlash bool
	// AllowBackSlash allows %5C and the raw backslash (allowEncodedBackSlash).
	AllowBackSlash bool
	// AllowNullCharacter allows %00 (allowEncodedNullCharacter).
	AllowNullCharacter bool
	// AllowSemicolon allows %3B (allowEncodedSemicolon).
	AllowSemicolon bool
	// AllowPercent allows %25 (allowEncodedPercent).
	AllowPercent bool
	// AllowQuestionMark allows %3F (allowEncodedQuestionMark).
	AllowQuestionMark bool
	// AllowHash allows %23 (allowEncodedHash).
	AllowHash bool
}

// AllowAllEncoded returns the set in which every encoded character is allowed.
func AllowAllEncoded() EncodedCharacters {
	return EncodedCharacters{
		AllowSlash: true, AllowBackSlash: true, AllowNullCharacter: true, AllowSemicolon: true,
		AllowPercent: true, AllowQuestionMark: true, AllowHash: true,
	}
}

func (e EncodedCharacters) allows(c byte) bool {
	switch c {
	case '/':
		return e.AllowSlash
	case '\\':
		return e.AllowBackSlash
	case 0:
		return e.AllowNullCharacter
	case ';':
		return e.AllowSemicolon
	case '%':
		return e.AllowPercent
	case '?':
		return e.AllowQuestionMark
	case '#':
		return e.AllowHash
	}
	return true
}

// Check refuses an escaped path that contains an encoded character which is not allowed. The error is an [*Error].
func (e EncodedCharacters) Check(escaped string) error {
	for i := 0; i < len(escaped); i++ {
		at := strings.IndexByte(escaped[i:], '%')
		if at < 0 {
			return nil
		}
		i += at
		if decoded, ok := decodeAt(escaped, i); !ok || !e.allows(decoded) {
			return refuse("the path has an encoded character that is not allowed")
		}
		i += 2
	}
	return nil
}

// Policy defines how the targets of requests are normalised at one entrypoint. The zero value refuses every encoded
// character and removes no segments; [DefaultPolicy] holds the documented defaults.
type Policy struct {
	// Sanitize removes dot segments and empty segments (sanitizePath, default true).
	Sanitize bool
	// AllowOnlyParameters accepts segments that consist of parameters alone, as in "/;x/admin" (allowParameterSegments,
	// default false). Servers that remove parameters, such as servlet containers, read "/admin". Without Sanitize they are
	// accepted too.
	AllowOnlyParameters bool
	// Encoded is the set of characters that may be percent-encoded (encodedCharacters, default all).
	Encoded EncodedCharacters
	// PlainOnly refuses targets in absolute form with https: a forward proxy that has no tunnels would send them without
	// TLS.
	PlainOnly bool
	// EncodeQuerySemicolons replaces ";" by "%3B" in the query (encodeQuerySemicolons, default false).
	EncodeQuerySemicolons bool
}

// DefaultPolicy returns the policy of an entrypoint that sets none of the options.
func DefaultPolicy() Policy {
	return Policy{Sanitize: true, Encoded: AllowAllEncoded()}
}

// Apply normalises an escaped path, the part of an origin-form request target before "?". An empty path becomes "/",
// "*" stays. A path that needs no change is returned without an allocation. The error is an [*Error].
func (p Policy) Apply(escaped string) (Target, error) {
	switch {
	case escaped == "" || escaped == "/":
		return Target{Escaped: "/", Routing: "/"}, nil
	case escaped == "*":
		return Target{Escaped: "*", Routing: "*"}, nil
	case escaped[0] != '/':
		return Target{}, refuse("the path does not begin with a slash")
	}
	if isPlain(escaped) {
		return Target{Escaped: escaped, Routing: escaped}, nil
	}
	normal, err := normalize(escaped, p.Encoded)
	if err != nil {
		return Target{}, err
	}
	if p.Sanitize {
		switch inspect(normal) {
		case dotParameter:
			return Target{}, refuse("a dot segment has a parameter")
		case onlyParameters:
			if !p.AllowOnlyParameters {
				return Target{}, refuse("a segment consists of parameters alone")
			}
			normal = clean(normal)
		case unclean:
			normal = clean(normal)
		}
	}
	return Target{Escaped: normal, Routing: route(normal)}, nil
}

// Query normalises a raw query (without "?"): a raw "#", space or control byte is refused with an [*Error], semicolons
// are encoded if the policy requires it.
func (p Policy) Query(raw string) (string, error) {
	semicolon := false
	for i := range len(raw) {
		switch c := raw[i]; {
		case c <= ' ' || c == 0x7f:
			return "", refuse("the query has a space or control character")
		case c == '#':
			return "", refuse("the query has a fragment")
		case c == ';':
			semicolon = true
		}
	}
	if semicolon && p.EncodeQuerySemicolons {
		return strings.ReplaceAll(raw, ";", "%3B"), nil
	}
	return raw, nil
}
