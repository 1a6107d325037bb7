package annotation

import (
	"net"
	"slices"
	"strconv"
	"strings"
)

// The characters that ingress-nginx accepts in values, beside letters and digits of ASCII.
const (
	basicChars    charset = "-._~/:"
	spacedChars   charset = basicChars + " "
	extendedChars charset = basicChars + ", "
	urlChars      charset = basicChars + ",?&="
	variableURL   charset = extendedChars + "?&=$"
	captureChars  charset = basicChars + "$"
	variableChars charset = "-_${}"
	headerChars   charset = "-_, "
	patternChars  charset = basicChars + `^$[](){}*+?|&=\`
	wordChars     charset = "-_"
	fileChars     charset = ".-_"
	cipherChars   charset = "+:_-!"
	suiteChars    charset = "+:_-!@="
)

// charset are characters beside letters and digits.
type charset string

// holds reports whether a text consists of letters, digits and these characters.
func (c charset) holds(text string) bool {
	for i := range len(text) {
		if b := text[i]; !alphanumeric(b) && strings.IndexByte(string(c), b) < 0 {
			return false
		}
	}
	return true
}

// spaced is as holds, with spaces anywhere.
func (c charset) spaced(text string) bool { return c.holds(strings.ReplaceAll(text, " ", "")) }

func alphanumeric(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9'
}

// serverName reports whether a text may be a name of a server, which may be an expression. There may be white space
// around it, but no line break, which ingress-nginx would keep.
func serverName(text string) bool {
	return oneLine(text) && patternChars.holds(strings.TrimSpace(text))
}

// oneOf returns a test for some words, around which there may be white space, but no line break.
func oneOf(words ...string) func(string) bool {
	return func(text string) bool { return oneLine(text) && slices.Contains(words, strings.TrimSpace(text)) }
}

func oneLine(text string) bool { return !strings.ContainsAny(text, "\r\n") }

// oneOfSpaced is as oneOf, with spaces anywhere; other white space is not accepted.
func oneOfSpaced(words ...string) func(string) bool {
	return func(text string) bool { return slices.Contains(words, strings.ReplaceAll(text, " ", "")) }
}

// anything accepts every text.
func anything(string) bool { return true }

// header reports whether a text is the name of a header.
func header(text string) bool { return text != "" && wordChars.holds(text) }

// size reports whether a text is a size: digits and at most one unit.
func size(text string) bool {
	_, ok := bytesOf(strings.ReplaceAll(text, " ", ""))
	return ok
}

// bytesOf returns a size in bytes, of at most 2⁶² bytes. The unit b, which nginx does not have, is one byte.
func bytesOf(text string) (int64, bool) {
	shift := 0
	digits := text
	if text != "" {
		switch text[len(text)-1] | 0x20 {
		case 'b':
			digits = text[:len(text)-1]
		case 'k':
			shift, digits = 10, text[:len(text)-1]
		case 'm':
			shift, digits = 20, text[:len(text)-1]
		case 'g':
			shift, digits = 30, text[:len(text)-1]
		}
	}
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	const most = 1 << 62
	number, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || number > most>>shift {
		return most, true
	}
	return number << shift, true
}

// networks returns a list of addresses and networks, each in its usual form, ordered and without doubles. ok reports
// whether all are valid.
func networks(text string) (list []string, ok bool) {
	for item := range strings.SplitSeq(text, ",") {
		item = strings.TrimSpace(item)
		if _, network, err := net.ParseCIDR(item); err == nil {
			list = append(list, network.String())
			continue
		}
		address := net.ParseIP(item)
		if address == nil {
			return nil, false
		}
		list = append(list, address.String())
	}
	slices.Sort(list)
	return slices.Compact(list), true
}

// networkList reports whether a text is a list of addresses and networks.
func networkList(text string) bool {
	_, ok := networks(text)
	return ok
}

// list returns the items of a text that commas divide, without those that are empty.
func list(text string) []string {
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}
