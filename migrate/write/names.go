package write

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
)

// mostName is the length of the longest name that is written. That of a router in IngressRoutes has further parts.
const mostName = 200

// plain returns the name of an object without that of its provider.
func plain(name string) string {
	name, _, _ = strings.Cut(name, "@")
	return name
}

// kubeName returns a name as one of a Kubernetes object: lower-case letters, digits and hyphens. One that is changed
// for that ends in a hash of what it was.
func kubeName(name string) string {
	var out strings.Builder
	for _, r := range strings.ToLower(name) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			out.WriteRune(r)
		} else {
			out.WriteByte('-')
		}
	}
	text := strings.Trim(out.String(), "-")
	if text == name && len(text) <= mostName {
		return text
	}
	if len(text) > mostName {
		text = strings.TrimRight(text[:mostName], "-")
	}
	sum := sha256.Sum256([]byte(name))
	return strings.TrimLeft(text+"-"+hex.EncodeToString(sum[:4]), "-")
}

// ownerOf returns the namespace and the name of the Ingress that a router belongs to. Those of a host have none.
func (w *writer) ownerOf(router string) (namespace, name string, found bool) {
	origin, _ := w.configuration.Origins.Find(dynamic.Ref{Kind: dynamic.KindRouter, Name: router})
	if resource := origin.Resource; resource != nil && resource.Kind == "Ingress" {
		return resource.Namespace, resource.Name, true
	}
	text, _, _ := strings.Cut(plain(router), ",")
	if namespace, name, found = strings.Cut(text, "."); !found {
		return "", "", false
	}
	return namespace, name, true
}

// hostsOf returns the names of hosts in a rule.
func hostsOf(rule string) []string {
	var out []string
	for _, found := range regexp.MustCompile("Host\\(`([^`]+)`\\)").FindAllStringSubmatch(rule, -1) {
		out = append(out, found[1])
	}
	return out
}

// portOf is a port of a Service.
type portOf struct{ namespace, service, port string }

// serviceOf returns the port of a Service that the name of a load balancer says: NAMESPACE.SERVICE,PORT, behind which
// may be a hash.
func serviceOf(name string) (portOf, bool) {
	text, port, divided := strings.Cut(plain(name), ",")
	namespace, service, dotted := strings.Cut(text, ".")
	if !divided || !dotted || namespace == "" || service == "" {
		return portOf{}, false
	}
	if at := len(port) - lengthOfHash - 1; at > 0 && port[at] == '-' && isHex(port[at+1:]) {
		port = port[:at]
	}
	return portOf{namespace, service, port}, port != ""
}

// lengthOfHash is that of the hashes in names of the provider.
const lengthOfHash = 32

func isHex(text string) bool { return strings.Trim(text, "0123456789abcdef") == "" }
