package manifest

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sluiceproxy/sluice/inject/jsonpatch"
)

// style is how a document is written.
type style struct {
	indent int
	// compact is whether lists have the indentation of their key.
	compact bool
}

// styleOf returns the style of the first map and the first list of a document that show it.
func styleOf(root *yaml.Node) style {
	s := style{}
	list := false
	var look func(node *yaml.Node)
	look = func(node *yaml.Node) {
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, value := node.Content[i], node.Content[i+1]
			switch {
			case isBlock(value, yaml.MappingNode):
				if s.indent == 0 && value.Column > key.Column {
					s.indent = value.Column - key.Column
				}
				look(value)
			case isBlock(value, yaml.SequenceNode):
				if !list {
					list, s.compact = true, value.Column == key.Column
				}
				for _, item := range value.Content {
					if isBlock(item, yaml.MappingNode) {
						look(item)
					}
				}
			}
		}
	}
	if isBlock(root, yaml.MappingNode) {
		look(root)
	}
	if s.indent < 2 || s.indent > 8 {
		s.indent = 2
	}
	return s
}

// encode returns a node as text.
func (s style) encode(node *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(s.indent)
	if s.compact {
		encoder.CompactSeqIndent()
	}
	if err := encoder.Encode(node); err != nil {
		return nil, err
	}
	if err := encoder.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// encoded returns a document that is written again as a whole, with the order of its keys and, where it is YAML, with
// its comments.
func encoded(text []byte, before, after map[string]any) ([]byte, error) {
	root, err := parseNode(text)
	if err != nil || root == nil {
		return nil, errShape
	}
	separator := separatorOf(text)
	if trimmed := bytes.TrimPrefix(text, separator); json.Valid(trimmed) {
		out, err := json.MarshalIndent(after, "", "  ")
		return append(append(separator, out...), '\n'), err
	}
	out, err := styleOf(root).encode(update(root, before, after))
	return append(separator, out...), err
}

// resolved returns a document that is written again without comments, anchors and merge keys.
func resolved(text []byte, _, after map[string]any) ([]byte, error) {
	root, err := parseNode(text)
	if err != nil || root == nil {
		return nil, errShape
	}
	out, err := styleOf(root).encode(valueNode(after))
	return append(separatorOf(text), out...), err
}

// separatorOf returns the line that separates a document from the one before, if it has one.
func separatorOf(text []byte) []byte {
	if first, _, _ := bytes.Cut(text, []byte("\n")); isSeparator(append(bytes.Clone(first), '\n')) {
		return []byte("---\n")
	}
	return nil
}

// update returns a node for a new value, with the nodes of what has not changed.
func update(node *yaml.Node, before, after any) *yaml.Node {
	if reflect.DeepEqual(before, after) {
		return node
	}
	was, isMap := before.(map[string]any)
	is, becomesMap := after.(map[string]any)
	if isMap && becomesMap && node.Kind == yaml.MappingNode {
		return updateMap(node, was, is)
	}
	wasList, isList := before.([]any)
	list, becomesList := after.([]any)
	if isList && becomesList && node.Kind == yaml.SequenceNode && len(node.Content) == len(wasList) {
		return updateList(node, wasList, list)
	}
	return valueNode(after)
}

func updateMap(node *yaml.Node, before, after map[string]any) *yaml.Node {
	out := *node
	out.Content = nil
	written := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		is, has := after[key.Value]
		switch was, had := before[key.Value]; {
		case !had: // A merge key.
			out.Content = append(out.Content, key, value)
		case has:
			out.Content = append(out.Content, key, update(value, was, is))
		}
		written[key.Value] = true
	}
	for _, key := range orderedKeys(after) {
		if was, had := before[key]; !written[key] && !(had && reflect.DeepEqual(was, after[key])) {
			out.Content = append(out.Content, textNode(key), valueNode(after[key]))
		}
	}
	return &out
}

func updateList(node *yaml.Node, before, after []any) *yaml.Node {
	pairs, ok := jsonpatch.Pairs(before, after)
	if !ok {
		return valueNode(after)
	}
	out := *node
	out.Content = make([]*yaml.Node, len(after))
	for _, pair := range pairs {
		out.Content[pair.To] = update(node.Content[pair.From], before[pair.From], after[pair.To])
	}
	for i, one := range out.Content {
		if one == nil {
			out.Content[i] = valueNode(after[i])
		}
	}
	return &out
}

// valueNode returns a node for a value of JSON.
func valueNode(value any) *yaml.Node {
	switch value := value.(type) {
	case map[string]any:
		return mapNode(orderedKeys(value), value)
	case []any:
		out := &yaml.Node{Kind: yaml.SequenceNode}
		for _, one := range value {
			out.Content = append(out.Content, valueNode(one))
		}
		if len(value) == 0 {
			out.Style = yaml.FlowStyle
		}
		return out
	case string:
		return textNode(value)
	case json.Number:
		tag := "!!int"
		if strings.ContainsAny(value.String(), ".eE") {
			tag = "!!float"
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value.String()}
	case bool:
		out := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "false"}
		if value {
			out.Value = "true"
		}
		return out
	default:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
	}
}

func mapNode(keys []string, values map[string]any) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode}
	for _, key := range keys {
		out.Content = append(out.Content, textNode(key), valueNode(values[key]))
	}
	if len(keys) == 0 {
		out.Style = yaml.FlowStyle
	}
	return out
}

func textNode(text string) *yaml.Node {
	out := &yaml.Node{}
	out.SetString(text)
	return out
}
