package document

import "github.com/pelletier/go-toml/v2/unstable"

// value converts a value. line and column are those of the key, for values without a position of their own. For an
// inline table it also returns the table.
func (b *tomlBuilder) value(n *unstable.Node, line, column, depth int) (*Node, *table, *Error) {
	if depth > MaxDepth {
		return nil, nil, &Error{Line: line, Reason: "is nested too deep"}
	}
	if n.Raw.Length > 0 {
		line, column = b.position(int(n.Raw.Offset))
	}
	switch n.Kind {
	case unstable.InlineTable:
		inline, err := b.inlineTable(n, line, column, depth)
		if err != nil {
			return nil, nil, err
		}
		return inline.node, inline, nil
	case unstable.Array:
		list, err := b.array(n, line, column, depth)
		return list, nil, err
	default:
		return tomlScalar(n, line, column), nil, nil
	}
}

func tomlScalar(n *unstable.Node, line, column int) *Node {
	out := &Node{Kind: Scalar, Line: line, Column: column, Value: string(n.Data)}
	switch n.Kind {
	case unstable.Bool:
		out.Type = Bool
	case unstable.Integer:
		out.Type = Int
	case unstable.Float:
		out.Type = Float
	}
	return out.closed()
}

func (b *tomlBuilder) inlineTable(n *unstable.Node, line, column, depth int) (*table, *Error) {
	inline := newTable(line, column, dotted)
	for it := n.Children(); it.Next(); {
		if err := b.keyValue(inline, it.Node(), depth); err != nil {
			return nil, err
		}
	}
	inline.seal()
	inline.close()
	return inline, nil
}

// seal completes an inline table with the tables of its dotted keys.
func (t *table) seal() {
	t.origin = inlined
	for _, child := range t.children {
		child.seal()
	}
}

func (b *tomlBuilder) array(n *unstable.Node, line, column, depth int) (*Node, *Error) {
	list := &Node{Kind: List, Line: line, Column: column}
	for it := n.Children(); it.Next(); {
		item, _, err := b.value(it.Node(), line, column, depth+1)
		if err != nil {
			return nil, err
		}
		list.Items = append(list.Items, item)
	}
	return list.closed(), nil
}
