package certificate

import (
	"crypto/tls"
	"fmt"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/document"
)

// value is a valid name of an option and its meaning.
type value[T any] struct {
	name string
	is   T
}

// find returns the meaning of an option's name, ignoring case.
func find[T any](option, name string, known []value[T]) (T, error) {
	for _, candidate := range known {
		if strings.EqualFold(candidate.name, name) {
			return candidate.is, nil
		}
	}
	names := make([]string, 0, len(known))
	for _, candidate := range known {
		names = append(names, candidate.name)
	}
	var zero T
	if nearest, ok := document.Nearest(name, names); ok {
		return zero, fmt.Errorf("%s: unknown value %q, did you mean %q?", option, name, nearest)
	}
	if len(names) > 8 {
		return zero, fmt.Errorf("%s: unknown value %q", option, name)
	}
	return zero, fmt.Errorf("%s: unknown value %q, expected one of %s", option, name, strings.Join(names, ", "))
}

// findAll looks up a list of names.
func findAll[T any](option string, names []string, known []value[T]) ([]T, error) {
	var all []T
	for i, name := range names {
		one, err := find(fmt.Sprintf("%s[%d]", option, i), name, known)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func versions() []value[uint16] {
	return []value[uint16]{
		{"VersionTLS10", tls.VersionTLS10},
		{"VersionTLS11", tls.VersionTLS11},
		{"VersionTLS12", tls.VersionTLS12},
		{"VersionTLS13", tls.VersionTLS13},
	}
}

func curves() []value[tls.CurveID] {
	return []value[tls.CurveID]{
		{"X25519", tls.X25519},
		{"CurveP256", tls.CurveP256},
		{"CurveP384", tls.CurveP384},
		{"CurveP521", tls.CurveP521},
		{"X25519MLKEM768", tls.X25519MLKEM768},
		{"SecP256r1MLKEM768", tls.SecP256r1MLKEM768},
		{"SecP384r1MLKEM1024", tls.SecP384r1MLKEM1024},
		{"secp256r1", tls.CurveP256},
		{"secp384r1", tls.CurveP384},
		{"secp521r1", tls.CurveP521},
	}
}

// postQuantum reports whether a key exchange withstands quantum computers. Those exist since TLS 1.3.
func postQuantum(curve tls.CurveID) bool {
	return curve == tls.X25519MLKEM768 || curve == tls.SecP256r1MLKEM768 || curve == tls.SecP384r1MLKEM1024
}

func clientAuths() []value[tls.ClientAuthType] {
	return []value[tls.ClientAuthType]{
		{"NoClientCert", tls.NoClientCert},
		{"RequestClientCert", tls.RequestClientCert},
		{"RequireAnyClientCert", tls.RequireAnyClientCert},
		{"VerifyClientCertIfGiven", tls.VerifyClientCertIfGiven},
		{"RequireAndVerifyClientCert", tls.RequireAndVerifyClientCert},
	}
}

// cipherSuites returns the suites of crypto/tls, including insecure ones, which may be configured by name.
func cipherSuites() []value[uint16] {
	var all []value[uint16]
	for _, suite := range slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()) {
		all = append(all, value[uint16]{suite.Name, suite.ID})
		// The names of RFC 7905 end in the hash; older configurations omit it.
		if short, ok := strings.CutSuffix(suite.Name, "_POLY1305_SHA256"); ok {
			all = append(all, value[uint16]{short + "_POLY1305", suite.ID})
		}
	}
	return all
}
