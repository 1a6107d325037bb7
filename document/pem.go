package document

import (
	"fmt"
	"strings"
)

// maxPEMBytes is the maximum size of a certificate, key or bundle of authorities.
const maxPEMBytes = 4 << 20

// IsPEM reports whether an option's value is PEM text rather than a path.
func IsPEM(value string) bool { return strings.Contains(value, "-----BEGIN ") }

// DescribePEM describes the value of an option for errors, without inline keys.
func DescribePEM(value string) string {
	switch {
	case IsPEM(value):
		return "inline PEM"
	case !IsPath(value):
		return "inline text"
	}
	return value
}

// IsPath reports whether the value of an option for a path or PEM text is a path, which errors may contain.
func IsPath(value string) bool {
	return !strings.Contains(value, "-----BEGIN") && !strings.ContainsAny(value, "\r\n{}\"")
}

// ReadPEM returns the PEM text in the value of an option, or in the regular file that it names, of at most 4 MiB.
// Errors contain the option and the path, but no content.
func ReadPEM(option, value string) ([]byte, error) { return ReadPEMOfSize(option, value, maxPEMBytes) }

// ReadPEMOfSize is ReadPEM for files of another maximum size in bytes. Their content may be binary.
func ReadPEMOfSize(option, value string, most int64) ([]byte, error) {
	if value == "" {
		return nil, fmt.Errorf("%s is empty, expected a path or PEM text", option)
	}
	if IsPEM(value) {
		return []byte(value), nil
	}
	if !IsPath(value) { // It may be a key without PEM armour, or in another format.
		return nil, fmt.Errorf("%s is neither a path nor PEM text", option)
	}
	text, err := ReadRegular(value, most)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", option, err)
	}
	return text, nil
}
