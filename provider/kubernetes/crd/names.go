package crd

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluiceproxy/sluice/dynamic"
)

// kindOf returns the Kind of a translation.Source: KIND.GROUP.
func kindOf(kind, group string) string { return kind + "." + group }

// splitKind returns the kind and the group of the Kind of a translation.Source.
func splitKind(kind string) (name, group string) {
	name, group, _ = strings.Cut(kind, ".")
	return name, group
}

// objectName returns the name of what an object declares that can be referred to (middlewares, services, transports,
// TLS options): NAMESPACE-NAME.
func objectName(namespace, name string) string { return normalize(namespace + "-" + name) }

// tlsName returns the name of TLS options or a TLS store: default belongs to all namespaces.
func tlsName(namespace, name string) string {
	if name == dynamic.DefaultTLSName {
		return name
	}
	return objectName(namespace, name)
}

// routerName returns the name of the router of a rule: NAMESPACE-NAME-HASH, where HASH is the first 10 bytes of the
// rule's SHA-256 in hexadecimal.
func routerName(namespace, name, rule string) string {
	sum := sha256.Sum256([]byte(rule))
	return normalize(namespace + "-" + name + "-" + hex.EncodeToString(sum[:10]))
}

// childName returns the name of one of several services of a route: NAMESPACE-SERVICE-PORT.
func childName(namespace, service string, port intstr.IntOrString) string {
	return normalize(namespace + "-" + service + "-" + port.String())
}

// errorServiceName returns the name of the service of a middleware of the kind errors.
func errorServiceName(namespace, middleware string) string {
	return objectName(namespace, middleware) + "-errorpage-service"
}

// authorizationServiceName returns the name of the service of a middleware of the kind externalAuth.
func authorizationServiceName(namespace, middleware string) string {
	return objectName(namespace, middleware) + "-externalauth-service"
}

// normalize puts one hyphen for each run of what is neither a letter nor a digit, and none at the ends.
func normalize(name string) string {
	return strings.Join(strings.FieldsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r)
	}), "-")
}
