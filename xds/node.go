package xds

import (
	"strings"
	"unicode"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
)

// maxNodeText is how much is kept of a text of a client's node, in bytes.
const maxNodeText = 256

// shrunk returns what identifies a client, in a bounded size.
func shrunk(node *corev3.Node) *corev3.Node {
	kept := &corev3.Node{
		Id: printable(node.GetId()), Cluster: printable(node.GetCluster()), UserAgentName: printable(node.GetUserAgentName()),
	}
	if version := node.GetUserAgentVersion(); version != "" {
		kept.UserAgentVersionType = &corev3.Node_UserAgentVersion{UserAgentVersion: printable(version)}
	}
	if from := node.GetLocality(); from != nil {
		kept.Locality = &corev3.Locality{
			Region: printable(from.GetRegion()), Zone: printable(from.GetZone()), SubZone: printable(from.GetSubZone()),
		}
	}
	return kept
}

// printable returns the begin of a text with ? in the place of what cannot be printed.
func printable(text string) string {
	if len(text) > maxNodeText {
		text = strings.ToValidUTF8(text[:maxNodeText], "")
	}
	return strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}
