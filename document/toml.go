package document

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strconv"

	"github.com/pelletier/go-toml/v2/unstable"
)

// origin is how a table was defined, which decides how it may be extended.
type origin uint8

const (
	implied  origin = iota // by a longer header: [a.b] implies a
	headed                 // by its own header, or as an element of an array of tables
	dotted                 // by a dotted key
	inlined                // by braces, complete
	repeated               // by [[a]]: the list itself
)

// table is a map or an array of tables under construction.
type table struct {
	node     *Node
	origin   origin
	children map[string]*table
	index    map[string]int // index of a key in node.Fields
	elements []*table
	second   []*table // tables with duplicate keys
}

type tomlBuilder struct {
	duplicates bool // accepts duplicate keys
	parser     unstable.Parser
	newlines   []int
	root       *table
	current    *table
	depth      int // of current below the root
}

func parseTOML(data []byte, duplicates bool) (*Node, *Error) {
	b := &tomlBuilder{duplicates: duplicates}
	for i, c := range data {
		if c == '\n' {
			b.newlines = append(b.newlines, i)
		}
	}
	// The parser computes positions from capacities.
	data = slices.Clip(data)
	b.root = newTable(1, 1, implied)
	b.current = b.root
	b.parser.Reset(data)
	for b.parser.NextExpression() {
		if err := b.expression(b.parser.Expression()); err != nil {
			return nil, err
		}
	}
	if err := b.parser.Error(); err != nil {
		return nil, b.syntaxError(err)
	}
	b.root.close()
	if len(b.root.node.Fields) == 0 {
		return (&Node{Kind: Null, Line: 1, Column: 1}).closed(), nil
	}
	return b.root.node, nil
}

func newTable(line, column int, from origin) *table {
	kind := Map
	if from == repeated {
		kind = List
	}
	return &table{
		node: &Node{Kind: kind, Line: line, Column: column, Dotted: from == dotted}, origin: from,
		children: map[string]*table{}, index: map[string]int{},
	}
}

// close sets the sizes, from the leaves up. Values other than tables have them already.
func (t *table) close() {
	for _, child := range t.children {
		child.close()
	}
	for _, element := range t.elements {
		element.close()
	}
	for _, second := range t.second {
		second.close()
	}
	t.node.closed()
}

func (t *table) set(key string, line int, value *Node) {
	t.index[key] = len(t.node.Fields)
	t.node.Fields = append(t.node.Fields, Field{Key: key, Line: line, Value: value})
}

// line returns the line of a key, and whether it exists.
func (t *table) line(key string) (int, bool) {
	at, ok := t.index[key]
	if !ok {
		return 0, false
	}
	return t.node.Fields[at].Line, true
}

// position returns the line and the column of an offset, from 1.
func (b *tomlBuilder) position(offset int) (line, column int) {
	before := sort.SearchInts(b.newlines, offset)
	if before == 0 {
		return 1, offset + 1
	}
	return before + 1, offset - b.newlines[before-1]
}

// quotedCharacter matches a character that the library quotes, which may be the first one of a password.
var quotedCharacter = regexp.MustCompile(`(:| but got)? U\+[0-9A-F]+( '.*')?`)

func (b *tomlBuilder) syntaxError(err error) *Error {
	out := &Error{Line: 1, Reason: plainTOMLReason(quotedCharacter.ReplaceAllString(err.Error(), ""))}
	if at, ok := errors.AsType[*unstable.ParserError](err); ok && at.Highlight != nil {
		offset := cap(b.parser.Data()) - cap(at.Highlight)
		out.Line, _ = b.position(max(0, offset))
	}
	return out
}

func (b *tomlBuilder) fail(n *unstable.Node, format string, args ...any) *Error {
	line, _ := b.position(int(n.Raw.Offset))
	return &Error{Line: line, Reason: fmt.Sprintf(format, args...)}
}

func (b *tomlBuilder) expression(n *unstable.Node) *Error {
	switch n.Kind {
	case unstable.Table, unstable.ArrayTable:
		return b.header(n)
	case unstable.KeyValue:
		return b.keyValue(b.current, n, b.depth)
	default:
		return nil
	}
}

// keys returns the parts of a key; at least one.
func keys(it unstable.Iterator) []*unstable.Node {
	var parts []*unstable.Node
	for it.Next() {
		parts = append(parts, it.Node())
	}
	return parts
}

// header makes [a.b] or [[a.b]] the current table.
func (b *tomlBuilder) header(n *unstable.Node) *Error {
	parts := keys(n.Key())
	at, depth := b.root, 1
	for _, part := range parts[:len(parts)-1] {
		next, err := b.enter(at, part)
		if err != nil {
			return err
		}
		at, depth = next, depth+1
	}
	last := parts[len(parts)-1]
	if depth+2 > MaxDepth {
		return b.fail(last, "is nested more than %d levels deep", MaxDepth)
	}
	b.depth = depth
	if n.Kind == unstable.ArrayTable {
		b.depth++
		return b.appendElement(at, last)
	}
	return b.define(at, last)
}

// enter descends into the table named by a part of a header; inline tables are an error.
func (b *tomlBuilder) enter(at *table, part *unstable.Node) (*table, *Error) {
	key := string(part.Data)
	next, ok := at.children[key]
	if !ok {
		if line, taken := at.line(key); taken {
			return nil, b.fail(part, "%s is not a table, line %d says otherwise", strconv.Quote(ShowKey(key)), line)
		}
		return b.child(at, part, implied), nil
	}
	if next.origin == repeated {
		next = next.elements[len(next.elements)-1]
	}
	if next.origin == inlined {
		line, _ := at.line(key)
		return nil, b.fail(part, "table %s is complete since line %d", strconv.Quote(ShowKey(key)), line)
	}
	return next, nil
}

func (b *tomlBuilder) child(at *table, part *unstable.Node, from origin) *table {
	line, column := b.position(int(part.Raw.Offset))
	next := newTable(line, column, from)
	key := string(part.Data)
	at.children[key] = next
	at.set(key, line, next.node)
	return next
}

func (b *tomlBuilder) define(at *table, part *unstable.Node) *Error {
	key := string(part.Data)
	next, ok := at.children[key]
	line, taken := at.line(key)
	switch {
	case !taken:
		next = b.child(at, part, headed)
	case ok && next.origin == implied:
		// The table's own header is its declaration.
		next.origin = headed
		next.node.Line, next.node.Column = b.position(int(part.Raw.Offset))
		at.node.Fields[at.index[key]].Line = next.node.Line
	case b.duplicates:
		again, column := b.position(int(part.Raw.Offset))
		next = newTable(again, column, headed)
		at.second = append(at.second, next)
		at.node.Fields = append(at.node.Fields, Field{Key: key, Line: again, Value: next.node})
	default:
		return b.duplicate(part, key, line)
	}
	b.current = next
	return nil
}

func (b *tomlBuilder) duplicate(part *unstable.Node, key string, first int) *Error {
	line, _ := b.position(int(part.Raw.Offset))
	return duplicateKey(line, key, first)
}

func (b *tomlBuilder) appendElement(at *table, part *unstable.Node) *Error {
	key := string(part.Data)
	list, ok := at.children[key]
	if !ok {
		if line, taken := at.line(key); taken {
			return b.duplicate(part, key, line)
		}
		list = b.child(at, part, repeated)
	}
	if list.origin != repeated {
		line, _ := at.line(key)
		return b.duplicate(part, key, line)
	}
	line, column := b.position(int(part.Raw.Offset))
	element := newTable(line, column, headed)
	list.elements = append(list.elements, element)
	list.node.Items = append(list.node.Items, element.node)
	b.current = element
	return nil
}

// keyValue adds a, possibly dotted, key to a table at a depth.
func (b *tomlBuilder) keyValue(at *table, n *unstable.Node, depth int) *Error {
	parts := keys(n.Key())
	last := parts[len(parts)-1]
	if depth+len(parts) >= MaxDepth {
		return b.fail(last, "is nested more than %d levels deep", MaxDepth)
	}
	for _, part := range parts[:len(parts)-1] {
		key := string(part.Data)
		next, ok := at.children[key]
		line, taken := at.line(key)
		switch {
		case !taken:
			next = b.child(at, part, dotted)
		case !ok || next.origin != dotted:
			return b.fail(part, "%s is complete since line %d; a dotted key cannot add to it", strconv.Quote(ShowKey(key)), line)
		}
		at = next
	}
	key := string(last.Data)
	first, taken := at.line(key)
	if taken && !b.duplicates {
		return b.duplicate(last, key, first)
	}
	line, column := b.position(int(last.Raw.Offset))
	value, inline, err := b.value(n.Value(), line, column, depth+len(parts))
	if err != nil {
		return err
	}
	if taken {
		at.node.Fields = append(at.node.Fields, Field{Key: key, Line: line, Value: value})
		return nil
	}
	if inline != nil {
		at.children[key] = inline
	}
	at.set(key, line, value)
	return nil
}
