package dynamic

import "github.com/sluiceproxy/sluice/document"

// DecodeObject makes one object from a node that belongs to no file, by the rules of Decoder: its defaults first
// (SetDefaults), then the content of the node; exactly one kind in a Service and a Middleware. It returns the object
// with its valid parts, and all problems; a node without lines gives problems without lines. values caches the layouts
// of types between calls, and is not safe for concurrent use.
func DecodeObject[T any](values *document.Decoder, node *document.Node) (*T, []document.Problem) {
	object := new(T)
	if defaulted, ok := any(object).(document.Defaulter); ok {
		defaulted.SetDefaults()
	}
	if node.Kind == document.Null {
		return object, []document.Problem{{Line: node.Line, Reason: "has no value"}}
	}
	problems := values.Decode(node, object)
	if len(problems) == 0 {
		if reason := kindReason(object, node); reason != "" {
			problems = []document.Problem{{Line: node.Line, Reason: reason}}
		}
	}
	return object, problems
}
