package digestauth

import (
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/sluiceproxy/sluice/middleware/users"
)

// maxCredentials is the maximum length of credentials in bytes. They contain the request target.
const maxCredentials = 16384

// credentials are the parsed parameters of an Authorization header with the scheme Digest (RFC 7616 section 3.4).
type credentials struct {
	username, realm, nonce, uri, response, cnonce, opaque string
	algorithm                                             algorithm
	// nc and qop are as sent, count is nc as a number.
	nc, qop string
	count   uint32
}

// parse parses the values of Authorization. It requires a single value with the scheme Digest in any case, no duplicate
// or missing parameters (opaque and algorithm are optional), qop auth, algorithm MD5 or SHA-256, and a plain user name,
// without userhash and username*.
func parse(lines []string) (sent credentials, ok bool) {
	if len(lines) != 1 || len(lines[0]) > maxCredentials {
		return credentials{}, false
	}
	scheme, rest, _ := strings.Cut(lines[0], " ")
	if !strings.EqualFold(scheme, "Digest") {
		return credentials{}, false
	}
	var parameters [len(known)]string
	if !readParameters(rest, &parameters) {
		return credentials{}, false
	}
	return meaning(&parameters)
}

// Indexes of known.
const (
	username = iota
	realm
	nonceParameter
	uri
	response
	cnonce
	opaque
	algorithmParameter
	nc
	qop
	userhash
	encodedUsername
)

// known are the used parameters. Others are ignored.
var known = [...]string{
	"username", "realm", "nonce", "uri", "response", "cnonce", "opaque", "algorithm", "nc", "qop", "userhash", "username*",
}

// meaning converts parameters to credentials.
func meaning(parameters *[len(known)]string) (sent credentials, ok bool) {
	for _, required := range [...]int{username, realm, nonceParameter, uri, cnonce} {
		if parameters[required] == "" {
			return credentials{}, false
		}
	}
	if parameters[qop] != "auth" || parameters[encodedUsername] != "" || strings.EqualFold(parameters[userhash], "true") {
		return credentials{}, false
	}
	algorithm, ok := algorithmOf(parameters[algorithmParameter])
	if !ok || !isHex(parameters[response], algorithm.length()) || !isHex(parameters[nc], 8) ||
		users.HasControl(parameters[username]) {
		return credentials{}, false
	}
	count, err := strconv.ParseUint(parameters[nc], 16, 32)
	if err != nil || count == 0 {
		return credentials{}, false
	}
	return credentials{
		username: parameters[username], realm: parameters[realm], nonce: parameters[nonceParameter], uri: parameters[uri],
		response: parameters[response], cnonce: parameters[cnonce], opaque: parameters[opaque], algorithm: algorithm,
		nc: parameters[nc], qop: parameters[qop], count: uint32(count),
	}, true
}

// readParameters parses a list of auth-params (RFC 9110 sections 5.6.1 and 11.2).
func readParameters(text string, parameters *[len(known)]string) bool {
	var seen [len(known)]bool
	for {
		text = strings.TrimLeft(text, " \t,")
		if text == "" {
			return true
		}
		name, value, rest, ok := readParameter(text)
		if !ok {
			return false
		}
		for i := range known {
			if strings.EqualFold(name, known[i]) {
				if seen[i] {
					return false
				}
				seen[i], parameters[i] = true, value
			}
		}
		text = strings.TrimLeft(rest, " \t")
		if text != "" && text[0] != ',' {
			return false
		}
	}
}

// readParameter parses one parameter, whose value is a token or a quoted-string.
func readParameter(text string) (name, value, rest string, ok bool) {
	name, text, ok = strings.Cut(text, "=")
	name = strings.TrimRight(name, " \t")
	if !ok || !httpguts.ValidHeaderFieldName(name) {
		return "", "", "", false
	}
	text = strings.TrimLeft(text, " \t")
	if strings.HasPrefix(text, `"`) {
		value, rest, ok = readQuoted(text[1:])
		return name, value, rest, ok
	}
	end := strings.IndexAny(text, " \t,")
	if end < 0 {
		end = len(text)
	}
	return name, text[:end], text[end:], httpguts.ValidHeaderFieldName(text[:end])
}

// readQuoted parses a quoted-string (RFC 9110 section 5.6.4) after its first quotation mark.
func readQuoted(text string) (value, rest string, ok bool) {
	var unescaped []byte
	start := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			if unescaped == nil {
				return text[:i], text[i+1:], true
			}
			return string(append(unescaped, text[start:i]...)), text[i+1:], true
		case c == '\\':
			unescaped = append(unescaped, text[start:i]...)
			i++
			start = i
			if i == len(text) || isControl(text[i]) {
				return "", "", false
			}
		case isControl(c):
			return "", "", false
		}
	}
	return "", "", false
}

// isControl reports whether a byte is invalid in a quoted-string.
func isControl(c byte) bool { return c < ' ' && c != '\t' || c == 0x7f }

func isHex(text string, length int) bool {
	return len(text) == length && strings.Trim(text, "0123456789abcdefABCDEF") == ""
}
