package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/sluiceproxy/sluice/inject/jsonpatch"
)

// errShape is for a text whose lines cannot be replaced one by one.
var errShape = errors.New("the document has a form that cannot be edited")

// edited returns a text in block style with the lines written again that change.
func edited(text []byte, before, after map[string]any) ([]byte, error) {
	root, err := parseNode(text)
	if err != nil || !isBlock(root, yaml.MappingNode) {
		return nil, errShape
	}
	e := editor{lines: bytes.SplitAfter(text, []byte("\n")), style: styleOf(root)}
	if last := len(e.lines) - 1; len(e.lines[last]) == 0 {
		e.lines = e.lines[:last]
	} else if last >= 0 {
		e.lines[last] = append(e.lines[last], '\n')
	}
	end := len(e.lines)
	for i, line := range e.lines {
		if bytes.HasPrefix(line, []byte("...")) {
			end = i
			break
		}
	}
	if err := e.mapping(root, before, after, e.trim(end)); err != nil {
		return nil, err
	}
	return e.apply(), nil
}

// parseNode returns the value of a document; nil for an empty one.
func parseNode(text []byte) (root *yaml.Node, err error) {
	defer func() {
		if recover() != nil { // Some malformed comments make the parser panic.
			root, err = nil, errShape
		}
	}()
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if len(document.Content) == 0 {
		return nil, nil
	}
	return document.Content[0], nil
}

func isBlock(node *yaml.Node, kind yaml.Kind) bool {
	return node != nil && node.Kind == kind && node.Style&yaml.FlowStyle == 0 && node.Anchor == "" && len(node.Content) > 0
}

// editor collects the changes of lines. Lines count from 0 here.
type editor struct {
	lines [][]byte
	style style
	edits []edit
}

// edit replaces the lines from start to end (without it) by a text.
type edit struct {
	start, end int
	text       []byte
}

// apply returns the text with all edits.
func (e *editor) apply() []byte {
	slices.SortStableFunc(e.edits, func(a, b edit) int { return a.start - b.start })
	var out []byte
	next := 0
	for _, one := range e.edits {
		for ; next < one.start; next++ {
			out = append(out, e.lines[next]...)
		}
		out = append(out, one.text...)
		next = max(next, one.end)
	}
	for ; next < len(e.lines); next++ {
		out = append(out, e.lines[next]...)
	}
	return out
}

// trim returns the end of what ends before a line: comments and empty lines belong to what follows.
func (e *editor) trim(end int) int {
	for end > 0 {
		line := bytes.TrimSpace(e.lines[end-1])
		if len(line) > 0 && line[0] != '#' {
			break
		}
		end--
	}
	return end
}

// mapping changes a map whose text ends before the line end.
func (e *editor) mapping(node *yaml.Node, before, after map[string]any, end int) error {
	column := node.Content[0].Column - 1
	written := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if key.Column-1 != column || key.Kind != yaml.ScalarNode {
			return errShape
		}
		written[key.Value] = true
		stop := end
		if i+2 < len(node.Content) {
			stop = e.trim(node.Content[i+2].Line - 1)
		}
		was, had := before[key.Value]
		is, has := after[key.Value]
		if !had || reflect.DeepEqual(was, is) && has { // A merge key has no value of its own.
			continue
		}
		if err := e.entry(key, value, was, is, has, stop); err != nil {
			return err
		}
	}
	var added []byte
	for _, key := range orderedKeys(after) {
		if was, had := before[key]; written[key] || had && reflect.DeepEqual(was, after[key]) {
			continue
		}
		text, err := e.style.entry(key, after[key], column)
		if err != nil {
			return err
		}
		added = append(added, text...)
	}
	if len(added) > 0 {
		e.edits = append(e.edits, edit{end, end, added})
	}
	return nil
}

// entry changes one entry of a map.
func (e *editor) entry(key, value *yaml.Node, was, is any, has bool, end int) error {
	start := key.Line - 1
	prefix := e.lines[start][:min(key.Column-1, len(e.lines[start]))]
	first := len(bytes.TrimSpace(prefix)) > 0 // The entry begins an element of a list.
	if !has {
		if first {
			return errShape
		}
		e.edits = append(e.edits, edit{start, end, nil})
		return nil
	}
	wasMap, isMap := was.(map[string]any)
	toMap, becomesMap := is.(map[string]any)
	if isMap && becomesMap && isBlock(value, yaml.MappingNode) && value.Line > key.Line && len(toMap) > 0 {
		return e.mapping(value, wasMap, toMap, end)
	}
	wasList, isList := was.([]any)
	toList, becomesList := is.([]any)
	if isList && becomesList && isBlock(value, yaml.SequenceNode) && value.Line > key.Line && len(toList) > 0 {
		return e.sequence(value, wasList, toList, end)
	}
	text, err := e.style.entry(key.Value, is, key.Column-1)
	if err != nil {
		return err
	}
	if first {
		text = append(slices.Clone(prefix), bytes.TrimLeft(text, " ")...)
	}
	e.edits = append(e.edits, edit{start, end, text})
	return nil
}

// sequence changes a list whose text ends before the line end.
func (e *editor) sequence(node *yaml.Node, before, after []any, end int) error {
	if len(node.Content) != len(before) {
		return errShape
	}
	starts := make([]int, 0, len(before)+1)
	for _, item := range node.Content {
		start := item.Line - 1
		if len(e.lines[start]) < node.Column || e.lines[start][node.Column-1] != '-' ||
			len(bytes.TrimSpace(e.lines[start][:node.Column-1])) > 0 {
			return errShape
		}
		starts = append(starts, start)
	}
	starts = append(starts, end)
	pairs, ok := jsonpatch.Pairs(before, after)
	if !ok {
		return errShape
	}
	i, j := 0, 0
	for _, pair := range append(pairs, jsonpatch.Pair{From: len(before), To: len(after)}) {
		for ; i < pair.From; i++ {
			e.edits = append(e.edits, edit{starts[i], e.itemEnd(starts, i), nil})
		}
		var added []byte
		for ; j < pair.To; j++ {
			text, err := e.style.item(after[j], node.Column-1)
			if err != nil {
				return err
			}
			added = append(added, text...)
		}
		if len(added) > 0 {
			at := e.trim(starts[i])
			e.edits = append(e.edits, edit{at, at, added})
		}
		if i == len(before) {
			break
		}
		if err := e.item(node, i, before[i], after[j], e.itemEnd(starts, i)); err != nil {
			return err
		}
		i, j = i+1, j+1
	}
	return nil
}

// itemEnd returns where the text of an element ends.
func (e *editor) itemEnd(starts []int, i int) int {
	if i+2 == len(starts) {
		return starts[i+1]
	}
	return e.trim(starts[i+1])
}

// item changes one element of a list.
func (e *editor) item(node *yaml.Node, i int, was, is any, end int) error {
	if reflect.DeepEqual(was, is) {
		return nil
	}
	value := node.Content[i]
	wasMap, isMap := was.(map[string]any)
	toMap, becomesMap := is.(map[string]any)
	if isMap && becomesMap && isBlock(value, yaml.MappingNode) {
		return e.mapping(value, wasMap, toMap, end)
	}
	text, err := e.style.item(is, node.Column-1)
	if err != nil {
		return err
	}
	e.edits = append(e.edits, edit{value.Line - 1, end, text})
	return nil
}

// orderedKeys returns the keys of a map as people write them: what identifies an object first.
func orderedKeys(values map[string]any) []string {
	first := []string{"apiVersion", "kind", "metadata", "name", "image"}
	keys := slices.Sorted(maps.Keys(values))
	slices.SortStableFunc(keys, func(a, b string) int {
		return rank(first, a) - rank(first, b)
	})
	return keys
}

func rank(list []string, key string) int {
	if at := slices.Index(list, key); at >= 0 {
		return at
	}
	return len(list)
}

// indented returns the lines of a text behind so many spaces.
func indented(text []byte, columns int) []byte {
	space := []byte(strings.Repeat(" ", columns))
	var out []byte
	for line := range bytes.Lines(text) {
		if len(bytes.TrimSpace(line)) > 0 {
			out = append(out, space...)
		}
		out = append(out, line...)
	}
	return out
}

// entry returns the lines of an entry of a map at a column, from 0.
func (s style) entry(key string, value any, column int) ([]byte, error) {
	text, err := s.encode(mapNode([]string{key}, map[string]any{key: value}))
	return indented(text, column), err
}

// item returns the lines of an element of a list at a column, from 0.
func (s style) item(value any, column int) ([]byte, error) {
	text, err := s.encode(&yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{valueNode(value)}})
	if err != nil {
		return nil, fmt.Errorf("an element of a list: %w", err)
	}
	return indented(text, column), nil
}
