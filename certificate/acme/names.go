package acme

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/idna"
)

// maxNames is how many names one certificate may have, as Let's Encrypt and Pebble limit it.
const maxNames = 100

// normalizeName returns a name as certificates have it: in lower case, and as A-labels (RFC 5890, section 2.3.2.1).
func normalizeName(name string) (string, error) {
	name = strings.TrimSuffix(strings.ToLower(strings.TrimSpace(name)), ".")
	if address, err := netip.ParseAddr(name); err == nil {
		return address.String(), nil
	}
	rest, isWildcard := strings.CutPrefix(name, "*.")
	ascii, err := idna.Lookup.ToASCII(rest)
	switch {
	case err != nil:
		return "", fmt.Errorf("%q is no host name: %w", name, err)
	case !strings.Contains(ascii, "."):
		return "", fmt.Errorf("%q has one label; certificate authorities issue for names such as shop.example.com", name)
	case strings.ContainsAny(ascii, "*:/ "):
		return "", fmt.Errorf("%q is no host name", name)
	case isWildcard:
		return "*." + ascii, nil
	}
	return ascii, nil
}

// normalizeNames returns the names of one certificate without repetitions, and without those that a wildcard of the
// list covers. Names that cannot be used are left out and are in the error.
func normalizeNames(names []string) ([]string, error) {
	var out []string
	var faults []error
	for _, name := range names {
		normal, err := normalizeName(name)
		switch {
		case err != nil:
			faults = append(faults, err)
		case !slices.Contains(out, normal):
			out = append(out, normal)
		}
	}
	whole := slices.Clone(out)
	out = slices.DeleteFunc(out, func(name string) bool {
		return slices.ContainsFunc(whole, func(other string) bool { return other != name && coversName(other, name) })
	})
	if len(out) > maxNames {
		faults = append(faults, fmt.Errorf("%d names are too many for one certificate, at most %d: the first %d are used; "+
			"split them by tls.domains", len(out), maxNames, maxNames))
		out = out[:maxNames]
	}
	return out, errors.Join(faults...)
}

// coversName reports whether a certificate for pattern is valid for name (RFC 6125, section 6.4.3).
func coversName(pattern, name string) bool {
	if pattern == name {
		return true
	}
	rest, isWildcard := strings.CutPrefix(pattern, "*.")
	if !isWildcard {
		return false
	}
	_, domain, found := strings.Cut(name, ".")
	return found && domain == rest && !strings.HasPrefix(name, "*.")
}

// compareSets orders sets of names: those with wildcards first, then larger ones, then by their text.
func compareSets(a, b []string) int {
	wildcards := func(names []string) int {
		n := 0
		for _, name := range names {
			if strings.HasPrefix(name, "*.") {
				n++
			}
		}
		return n
	}
	return cmp.Or(cmp.Compare(wildcards(b), wildcards(a)), cmp.Compare(len(b), len(a)), slices.Compare(a, b))
}
