package document

import (
	"strconv"
	"strings"
	"unicode"
)

// Problem is one mistake in a document.
type Problem struct {
	// Line counts from 1; 0 if unknown.
	Line int
	// Source is that of the node; empty for the document itself.
	Source string
	// Path is the path below the decoded value, as loadBalancer.servers[0].url; empty for the value itself.
	Path string
	// Reason is lower case and contains neither line nor path.
	Reason string
}

// String returns PATH: REASON, or the reason alone without a path.
func (p Problem) String() string {
	if p.Path == "" {
		return p.Reason
	}
	return p.Path + ": " + p.Reason
}

func joinKey(path, key string) string {
	if path == "" {
		return ShowKey(key)
	}
	return path + "." + ShowKey(key)
}

// longestKey is the maximum length of a key in errors, in bytes.
const longestKey = 64

// ShowKey returns a key for errors. A misplaced value may be in the place of a key, such as a user with a password.
// Therefore only the part before a colon, an equals sign or a space is returned, and nothing of a key that is no name
// or is longer than 64 bytes.
func ShowKey(key string) string {
	end := strings.IndexFunc(key, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./@", r)
	})
	switch {
	case end < 0 && len(key) <= longestKey:
		return key
	case end < 0 || end > longestKey || !strings.ContainsRune(":= ", rune(key[end])):
		return "..."
	}
	return key[:end] + "..."
}

func joinIndex(path string, index int) string {
	return path + "[" + strconv.Itoa(index) + "]"
}
