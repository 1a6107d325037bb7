package users

import (
	"errors"
	"fmt"
	"strings"
)

// maxName is the maximum length of a user's name in bytes.
const maxName = 255

// CheckName refuses an ambiguous or impossible name: an empty one, one of more than 255 bytes, with a colon (RFC 7617
// section 2) or a control character, or with a space at its beginning or end, which headers lose. The error does not
// contain the name.
func CheckName(name string) error {
	switch {
	case name == "":
		return errors.New("the user has no name")
	case len(name) > maxName:
		return fmt.Errorf("the user's name is longer than %d bytes", maxName)
	case strings.ContainsRune(name, ':'):
		return errors.New("the user's name has a colon")
	case HasControl(name):
		return errors.New("the user's name has a control character")
	case name[0] == ' ' || name[len(name)-1] == ' ':
		return errors.New("the user's name begins or ends with a space")
	}
	return nil
}

// HasControl reports whether text has an ASCII control character.
func HasControl[T string | []byte](text T) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] == 0x7f {
			return true
		}
	}
	return false
}

// Claimed returns a name that a client sent, for its record: its first 255 bytes.
func Claimed(name string) string { return name[:min(len(name), maxName)] }
