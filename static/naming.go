package static

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/document"
)

// naming is how variables or flags spell the names of options.
type naming struct {
	// prefix precedes every name.
	prefix string
	// separator stands between the words of a name: a dot, or the underscore of variables, which also stands for
	// whatever a variable cannot contain.
	separator string
}

// flagNaming is that of --entryPoints.web.address.
func flagNaming() naming { return naming{prefix: "--", separator: "."} }

// environmentNaming is that of SLUICE_ENTRYPOINTS_WEB_ADDRESS, for variables with the prefix.
func environmentNaming(prefix string) naming { return naming{prefix: prefix, separator: "_"} }

// fold makes two names comparable.
func (n naming) fold(name string) string {
	name = strings.ToLower(name)
	if n.separator == "." {
		return name
	}
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return '_'
	}, name)
}

// chosen spells a name that the user chose, such as that of an entrypoint, when no source before has spelled it.
func (n naming) chosen(words []string) string {
	name := strings.Join(words, n.separator)
	if n.separator == "." {
		return name
	}
	return strings.ToLower(name)
}

// words takes a name apart; an index in brackets becomes a word of its own.
func (n naming) words(name string) []string {
	var words []string
	for word := range strings.SplitSeq(name, n.separator) {
		if before, after, ok := strings.Cut(word, "["); ok && before != "" && strings.HasSuffix(after, "]") {
			words = append(words, before, strings.TrimSuffix(after, "]"))
			continue
		}
		words = append(words, word)
	}
	return words
}

// setter returns the new value of an option, which has had another one before, or nil.
type setter func(o *option, before *document.Node) *document.Node

// put returns a copy of node, the value of o, in which the option that the words name below it has what set returns.
// It calls set at most once: not when the name means nothing, and not when an earlier source has written something
// that o cannot be, which is reported where it is decoded.
func (n naming) put(o *option, node *document.Node, words []string, set setter) (*document.Node, *unknownName) {
	if len(words) == 0 || o.shape == free {
		return set(o, node), nil
	}
	if !o.accepts(node) {
		return node, nil
	}
	switch o.shape {
	case section:
		if child := o.child(words[0]); child != nil {
			return n.putBelow(child, child.name, node, words, 1, set)
		}
		return nil, &unknownName{word: words[0], known: o.names()}
	case named:
		return n.putNamed(o, node, words, set)
	case listed:
		return n.putItem(o, node, words, set)
	default:
		return nil, &unknownName{word: words[0]}
	}
}

// putBelow goes on with a child whose name is made of the first count words.
func (n naming) putBelow(
	child *option, name string, node *document.Node, words []string, count int, set setter,
) (*document.Node, *unknownName) {
	var before *document.Node
	if field := node.Get(name); field != nil {
		before = field.Value
	}
	value, unknown := n.put(child, before, words[count:], set)
	if unknown != nil {
		unknown.words = slices.Concat(words[:count], unknown.words)
		return nil, unknown
	}
	return node.With(name, value), nil
}

// putItem goes on with an element of a list.
func (n naming) putItem(o *option, node *document.Node, words []string, set setter) (*document.Node, *unknownName) {
	index, err := strconv.ParseUint(words[0], 10, 8)
	if err != nil {
		return nil, &unknownName{word: words[0]}
	}
	var before *document.Node
	if node != nil && int(index) < len(node.Items) {
		before = node.Items[index]
	}
	value, unknown := n.put(o.element, before, words[1:], set)
	if unknown != nil {
		unknown.words = slices.Concat(words[:1], unknown.words)
		return nil, unknown
	}
	return node.WithItem(int(index), value), nil
}

// putNamed finds how many words make the name that the user chose: one that is in node if there is one, the longest
// first, or else the shortest behind which the rest makes sense.
func (n naming) putNamed(o *option, node *document.Node, words []string, set setter) (*document.Node, *unknownName) {
	for _, known := range longestFirst(node) {
		count := len(n.words(n.fold(known)))
		if count <= len(words) && n.fold(strings.Join(words[:count], n.separator)) == n.fold(known) {
			if out, unknown := n.putBelow(o.element, known, node, words, count, set); unknown == nil {
				return out, nil
			}
		}
	}
	if o.element.shape == scalar {
		return n.putBelow(o.element, n.chosen(words), node, words, len(words), set)
	}
	var first *unknownName
	for count := 1; count <= len(words); count++ {
		// A name alone is a section only when it is one word: what follows is a mistake otherwise.
		if count == len(words) && count > 1 {
			break
		}
		name := n.chosen(words[:count])
		if strings.Trim(name, n.separator) == "" {
			continue
		}
		out, unknown := n.putBelow(o.element, name, node, words, count, set)
		if unknown == nil {
			return out, nil
		}
		first = cmp.Or(first, unknown)
	}
	return nil, cmp.Or(first, &unknownName{words: words})
}

// longestFirst returns the keys of a map, the longest first.
func longestFirst(node *document.Node) []string {
	if node == nil {
		return nil
	}
	var keys []string
	for i := range node.Fields {
		keys = append(keys, node.Fields[i].Key)
	}
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return keys
}

// set gives the option that a variable or a flag names a text. A list that several flags give is joined.
func (l *loader) set(names naming, name, text, source string) *unknownName {
	root, unknown := names.put(l.schema, l.root, names.words(name), func(o *option, before *document.Node) *document.Node {
		if o.shape == scalars && before != nil && strings.HasPrefix(before.Source, flagSource) {
			text = before.Value + "," + text
		}
		return assign(o, before, text, source)
	})
	if unknown == nil {
		l.root = root
	}
	return unknown
}

// assign returns the value of an option that a variable or a flag has given a text.
func assign(o *option, before *document.Node, text, source string) *document.Node {
	on, err := strconv.ParseBool(cmp.Or(text, "true"))
	switch {
	case o.shape == free:
		return &document.Node{Kind: document.Map, Source: source}
	case o.shape != section || !o.optional || err != nil || !on:
		return &document.Node{Kind: document.Scalar, Value: text, Source: source}
	case before != nil && before.Kind == document.Map:
		return before // What is written below a section stays when it is switched on.
	default:
		return &document.Node{Kind: document.Map, Source: source}
	}
}
