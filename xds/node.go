package xds

import (
	"strings"
	"unicode"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/proto"
)

// maxNodeText is how much is kept of a text of a client's node, in bytes.
const maxNodeText = 256

// shrink leaves of a node what identifies the client. It changes the node itself, since the implementation of the
// protocol keeps it as long as the stream.
func shrink(node *corev3.Node) {
	if node == nil {
		return
	}
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
	proto.Reset(node)
	proto.Merge(node, kept)
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
