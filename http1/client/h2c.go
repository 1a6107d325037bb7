package client

import (
	"net/http"
	"strings"

	"github.com/sluiceproxy/sluice/http1/wire"
)

// Upgrade to h2c is gone from HTTP (RFC 9113 section 3.1), and past a proxy it carries requests that no rule has seen.

func namesH2C(list string) bool {
	for protocol := range strings.SplitSeq(list, ",") {
		if isH2C(protocol) {
			return true
		}
	}
	return false
}

func isH2C(protocol string) bool { return strings.EqualFold(strings.Trim(protocol, " \t"), "h2c") }

// withoutH2C returns the values of a field of a request with an Upgrade to h2c, without what concerns that.
func withoutH2C(field wire.FieldKind, values []string, header http.Header) []string {
	switch field {
	case wire.SettingsField:
		return nil
	case wire.UpgradeField:
		return dropTokens(values, isH2C)
	case wire.ConnectionField:
		return dropTokens(values, func(option string) bool {
			option = strings.Trim(option, " \t")
			return strings.EqualFold(option, "HTTP2-Settings") || strings.EqualFold(option, "Upgrade") && !othersOffered(header)
		})
	}
	return values
}

// othersOffered reports whether the request offers any protocol but h2c.
func othersOffered(header http.Header) bool {
	for name, values := range header {
		if wire.KindOf(name) == wire.UpgradeField && len(dropTokens(values, isH2C)) > 0 {
			return true
		}
	}
	return false
}

// dropTokens returns the lists without the members that drop returns true for, and without empty ones.
func dropTokens(lists []string, drop func(string) bool) []string {
	var kept []string
	for _, list := range lists {
		for member := range strings.SplitSeq(list, ",") {
			if member = strings.Trim(member, " \t"); member != "" && !drop(member) {
				kept = append(kept, member)
			}
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return []string{strings.Join(kept, ", ")}
}
