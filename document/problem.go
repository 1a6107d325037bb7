package document

import (
	"strconv"
	"strings"
	"unicode"
)

// Problem is one thing that is wrong with a value of a document.
type Problem struct {
	// Line is where, from 1; 0 when the document does not say.
	Line int
	// Path names the key below the value that was decoded: loadBalancer.servers[0].url. It is empty for the value itself.
	Path string
	// Reason is lower case and names neither the line nor the path.
	Reason string
}

// String returns PATH: REASON, or the reason alone when there is no path.
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

// longestKey is how much of a key errors show, in bytes.
const longestKey = 64

// ShowKey returns a key as errors show it. A misplaced value may stand in the place of a key, such as a user with a
// password. Therefore only the part before a colon, an equals sign or a space is shown, and nothing of a key that is no
// name or is longer than 64 bytes.
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
