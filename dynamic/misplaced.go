package dynamic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/document"
)

// unknownSection returns the reason for a key that is no section of the map at where, which is "" for a file: with the
// place that has such a section, the successor of a section of an earlier version, or the nearest known key.
func unknownSection(where, folded string, known []string) string {
	if reason := sectionElsewhere(where, folded); reason != "" {
		return reason
	}
	return document.Unknown(folded, known)
}

// sectionElsewhere returns the reason for a section that another map has.
func sectionElsewhere(where, folded string) string {
	belongs := func(in string) string { return "unknown section here; it belongs in " + in }
	switch folded {
	case "frontends":
		return "is a section of Traefik v1; write http.routers, with rule and service"
	case "backends":
		return "is a section of Traefik v1; write http.services, with loadBalancer.servers"
	case "http", "tcp", "udp", "tls":
		if where != "" {
			return "unknown section here; it belongs at the top level of the file"
		}
	case "routers", "services", "middlewares", "serverstransports":
		switch where {
		case "":
			return belongs("http")
		case "tls":
			return "unknown section here; it belongs in http, not in tls"
		}
	case "certificates", "options", "stores":
		if where == "" || where == "http" {
			return belongs("tls")
		}
	}
	return ""
}

// notAName returns why the name of an object is likely to be an option or a section instead, or "" for an object that
// has options of its kind.
func notAName(ref Ref, object any, node *document.Node) string {
	known := document.Keys(object)
	for i := range node.Fields {
		if slices.ContainsFunc(known, func(key string) bool { return strings.EqualFold(key, node.Fields[i].Key) }) {
			return ""
		}
	}
	same := func(key string) bool { return strings.EqualFold(key, ref.Name) }
	switch {
	case slices.ContainsFunc([]string{"routers", "services", "middlewares", "serversTransports"}, same):
		return fmt.Sprintf("is named like a section: indent %s as far as the section above it", ref.Name)
	case slices.ContainsFunc(known, same):
		return fmt.Sprintf("is named like an option: put the name of a %s above %s", ref.Kind, ref.Name)
	}
	return ""
}
