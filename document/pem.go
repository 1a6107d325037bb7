package document

import (
	"fmt"
	"strings"
)

// maxPEMBytes bounds what is read for one certificate, key or bundle of authorities.
const maxPEMBytes = 4 << 20

// IsPEM reports whether the value of an option is PEM text rather than a path.
func IsPEM(value string) bool { return strings.Contains(value, "-----BEGIN ") }

// DescribePEM names the value of an option in errors, so that no key ends up in one.
func DescribePEM(value string) string {
	switch {
	case IsPEM(value):
		return "inline PEM"
	case !IsPath(value):
		return "inline text"
	}
	return value
}

// IsPath reports whether the value of an option that takes a path or PEM text is a path, so that errors may show it.
func IsPath(value string) bool {
	return !strings.Contains(value, "-----BEGIN") && !strings.ContainsAny(value, "\r\n{}\"")
}

// ReadPEM returns the PEM text that the value of an option holds or names a regular file of, which has at most 4 MiB.
// Errors name the option and the path, and never quote what may be a key.
func ReadPEM(option, value string) ([]byte, error) {
	if value == "" {
		return nil, fmt.Errorf("%s is empty, expected a path or PEM text", option)
	}
	if IsPEM(value) {
		return []byte(value), nil
	}
	if !IsPath(value) { // It may be a key without its armour, or in another format.
		return nil, fmt.Errorf("%s is neither a path nor PEM text", option)
	}
	text, err := ReadRegular(value, maxPEMBytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", option, err)
	}
	return text, nil
}
