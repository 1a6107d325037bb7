package ingress

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"unicode"
)

// Names of the objects of an Ingress without rules, the default backend.
const (
	defaultRouter  = "default-router"
	defaultService = "default-backend"
)

// normalize joins the letters and digits of a text by single dashes, since names are shown in URLs and metrics.
func normalize(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r)
	}), "-")
}

// routerName names the router of one path.
func routerName(namespace, ingress, host, path string) string {
	return normalize(namespace + "-" + ingress + "-" + host + path)
}

// hashedName distinguishes routers whose names are equal because only letters and digits are used.
func hashedName(name, rule string) string {
	sum := sha256.Sum256([]byte(rule))
	const shown = 10
	return fmt.Sprintf("%s-%x", name, sum[:shown])
}

// serviceName names the service of a backend by the port as the Ingress writes it: a name, or a number.
func serviceName(namespace, service, port string) string {
	return normalize(namespace + "-" + service + "-" + port)
}
