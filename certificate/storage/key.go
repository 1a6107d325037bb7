package storage

import (
	"errors"
	"net/url"
	"strings"
)

// EncodeKey returns a key as text, "kind:resolver:id" with each part escaped as in the query of a URL: what remains are
// ASCII letters, digits, "-", "_", ".", "~", "+" and "%". Different keys have different texts.
func EncodeKey(key Key) string {
	return url.QueryEscape(string(key.Kind)) + ":" + url.QueryEscape(key.Resolver) + ":" + url.QueryEscape(key.ID)
}

// DecodeKey returns the key of a text that EncodeKey has made, and an error for any other one.
func DecodeKey(text string) (Key, error) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 || parts[0] == "" {
		return Key{}, errors.New("a key is not kind:resolver:id")
	}
	for i, part := range parts {
		plain, err := url.QueryUnescape(part)
		if err != nil {
			return Key{}, errors.New("a key is escaped wrongly")
		}
		parts[i] = plain
	}
	return Key{Kind: Kind(parts[0]), Resolver: parts[1], ID: parts[2]}, nil
}
