package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

func parseYAML(data []byte, duplicates bool) (*Node, *Error) {
	root, err := loadYAML(data)
	switch {
	case errors.Is(err, errSecondDocument):
		return nil, &Error{Line: root.Line, Reason: err.Error()}
	case err != nil:
		return nil, syntaxError(data, err)
	case root == nil || len(root.Content) == 0:
		return (&Node{Kind: Null, Line: 1, Column: 1}).closed(), nil
	}
	c := yamlConverter{
		duplicates: duplicates, marks: marksOf(data), anchors: map[*yaml.Node]*Node{}, open: map[*yaml.Node]bool{},
	}
	node, failed := c.convert(root.Content[0], 1)
	if failed != nil {
		return nil, failed
	}
	return node, nil
}

var errSecondDocument = errors.New("starts a second YAML document; one file holds one document")

// loadYAML returns nil for an empty document. A panic of the parser, caused by some malformed comments, becomes an
// error.
func loadYAML(data []byte) (root *yaml.Node, err error) {
	defer func() {
		if recover() != nil {
			root, err = nil, errors.New("cannot be read as YAML")
		}
	}()
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var first, second yaml.Node
	if err := decoder.Decode(&first); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, err
	}
	err = decoder.Decode(&second)
	switch {
	case errors.Is(err, io.EOF):
		return &first, nil
	case err != nil:
		return nil, err
	case len(second.Content) == 1 && second.Content[0].ShortTag() == "!!null":
		return &first, nil
	}
	return &second, errSecondDocument
}

// searchLimit is the maximum size at which syntaxError searches for the line.
const searchLimit = 1 << 20

// syntaxError finds the line of an error. The library reports the line where the enclosing value began, at times one
// off. The useful line is the first one with which the text becomes invalid. Later lines do not change the error, so a
// binary search finds it.
func syntaxError(data []byte, err error) *Error {
	out := &Error{Line: 1, Reason: withoutName(strings.TrimPrefix(err.Error(), "yaml: "))}
	if rest, found := strings.CutPrefix(out.Reason, "line "); found {
		number, reason, _ := strings.Cut(rest, ": ")
		if line, err := strconv.Atoi(number); err == nil {
			out.Line, out.Reason = line, reason
		}
	}
	if len(data) > searchLimit {
		out.Reason = plainReason(out.Reason, "")
		return out
	}
	ends := lineEnds(data)
	low, high := 0, len(ends)-1
	for low < high {
		middle := (low + high) / 2
		if _, again := loadYAML(data[:ends[middle]]); again != nil && again.Error() == err.Error() {
			high = middle
		} else {
			low = middle + 1
		}
	}
	out.Line = low + 1
	begin := 0
	if low > 0 {
		begin = ends[low-1]
	}
	out.Reason = plainReason(out.Reason, strings.TrimRight(string(data[begin:ends[low]]), "\r\n"))
	return out
}

// withoutName removes the name of an anchor from a message of the library: an undefined alias may be a password that
// begins with an asterisk.
func withoutName(reason string) string {
	switch {
	case strings.Contains(reason, "unknown anchor '"):
		return "uses an alias that is not defined; a text that begins with * needs quotes around it"
	case strings.Contains(reason, "anchor '"):
		return "has an alias that stands for a value that contains it"
	}
	return reason
}

// lineEnds returns the offset after each line.
func lineEnds(data []byte) []int {
	var ends []int
	for i, b := range data {
		if b == '\n' {
			ends = append(ends, i+1)
		}
	}
	if len(data) == 0 || data[len(data)-1] != '\n' {
		ends = append(ends, len(data))
	}
	return ends
}

// yamlConverter converts the library's nodes. Anchored nodes are converted once and shared.
type yamlConverter struct {
	// duplicates accepts duplicate keys.
	duplicates bool
	marks      exclamationMarks
	anchors    map[*yaml.Node]*Node
	open       map[*yaml.Node]bool
	// expanded counts the nodes added by aliases and merge keys.
	expanded int
}

func failYAML(n *yaml.Node, format string, args ...any) *Error {
	return &Error{Line: n.Line, Reason: fmt.Sprintf(format, args...)}
}

func (c *yamlConverter) convert(n *yaml.Node, depth int) (*Node, *Error) {
	if depth > MaxDepth {
		return nil, failYAML(n, "is nested more than %d levels deep", MaxDepth)
	}
	if n.Anchor == "" {
		return c.convertPlain(n, depth)
	}
	if done, ok := c.anchors[n]; ok {
		return done, nil
	}
	c.open[n] = true
	node, err := c.convertPlain(n, depth)
	delete(c.open, n)
	if err == nil {
		c.anchors[n] = node
	}
	return node, err
}

func (c *yamlConverter) convertPlain(n *yaml.Node, depth int) (*Node, *Error) {
	out := &Node{Line: n.Line, Column: n.Column}
	switch n.Kind {
	case yaml.AliasNode:
		return c.convertAlias(n, depth)
	case yaml.SequenceNode:
		return c.convertList(n, out, depth)
	case yaml.MappingNode:
		return c.convertMap(n, out, depth)
	case yaml.ScalarNode:
		if c.marks.before(n) {
			return nil, failYAML(n, "begins with !, which YAML ignores; a text that begins with ! "+inQuotes)
		}
		return convertScalar(n, out)
	default:
		return nil, failYAML(n, "holds something that is neither a value, a list nor a map")
	}
}

func convertScalar(n *yaml.Node, out *Node) (*Node, *Error) {
	out.Kind, out.Value = Scalar, n.Value
	switch n.ShortTag() {
	case "!!null":
		out.Kind, out.Value = Null, ""
	case "!!int":
		out.Type = Int
	case "!!float":
		out.Type = Float
	case "!!bool":
		out.Type = Bool
	case "!!str", "!!timestamp", "!!merge":
	default:
		return nil, failYAML(n, "has an unknown tag; a text that begins with ! "+inQuotes)
	}
	return out.closed(), nil
}

func (c *yamlConverter) convertAlias(n *yaml.Node, depth int) (*Node, *Error) {
	if c.open[n.Alias] {
		return nil, failYAML(n, "has an alias that stands for a value that contains it")
	}
	node, err := c.convert(n.Alias, depth)
	if err != nil {
		return nil, err
	}
	if depth+int(node.height)-1 > MaxDepth {
		return nil, failYAML(n, "has an alias that is nested more than %d levels deep", MaxDepth)
	}
	return node, c.charge(n, int(node.size))
}

func (c *yamlConverter) charge(n *yaml.Node, nodes int) *Error {
	c.expanded += nodes
	if c.expanded > MaxExpansion {
		return failYAML(n, "aliases and merge keys expand to more than %d values", MaxExpansion)
	}
	return nil
}

func (c *yamlConverter) convertList(n *yaml.Node, out *Node, depth int) (*Node, *Error) {
	out.Kind, out.Items = List, make([]*Node, 0, len(n.Content))
	for _, content := range n.Content {
		item, err := c.convert(content, depth+1)
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, item)
	}
	return out.closed(), nil
}

func (c *yamlConverter) convertMap(n *yaml.Node, out *Node, depth int) (*Node, *Error) {
	out.Kind, out.Fields = Map, make([]Field, 0, len(n.Content)/2)
	seen := make(map[string]int, len(n.Content)/2)
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			return nil, failYAML(n.Content[i], "has a list or a map as a key")
		}
		if key.ShortTag() == "!!merge" {
			merges = append(merges, value)
			continue
		}
		if line, twice := seen[key.Value]; twice && !c.duplicates {
			return nil, duplicateKey(n.Content[i].Line, key.Value, line)
		}
		if _, twice := seen[key.Value]; !twice {
			seen[key.Value] = n.Content[i].Line
		}
		node, err := c.convert(value, depth+1)
		if err != nil {
			return nil, err
		}
		out.Fields = append(out.Fields, Field{Key: key.Value, Line: n.Content[i].Line, Value: node})
	}
	for _, merge := range merges {
		if err := c.merge(merge, out, seen, depth); err != nil {
			return nil, err
		}
	}
	return out.closed(), nil
}

// merge adds the missing fields from a merge key's maps; the first map that has a key wins.
func (c *yamlConverter) merge(n *yaml.Node, out *Node, seen map[string]int, depth int) *Error {
	source, err := c.convert(n, depth)
	if err != nil {
		return err
	}
	maps := []*Node{source}
	if source.Kind == List {
		maps = source.Items
	}
	for _, from := range maps {
		if from.Kind != Map {
			return failYAML(n, "merge key << needs a map or a list of maps, got %s", from.Kind)
		}
		if err := c.charge(n, int(from.size)); err != nil {
			return err
		}
		for _, field := range from.Fields {
			if _, known := seen[field.Key]; !known {
				seen[field.Key] = field.Line
				out.Fields = append(out.Fields, field)
			}
		}
	}
	return nil
}

func duplicateKey(line int, key string, first int) *Error {
	return &Error{Line: line, Reason: fmt.Sprintf("key %q is given twice, first on line %d", ShowKey(key), first)}
}
