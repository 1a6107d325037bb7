// Package document reads YAML and TOML with positions and decodes them strictly.
//
// Parse reads a file into a tree of [Node] values that have line numbers, [Decode] fills Go structs from a tree, and
// each mistake is a [Problem] with line and path. YAML and TOML become the same tree; JSON is read as YAML.
//
// Parse and Decode open no files; [ReadPEM] and [ReadRegular] read the given file.
package document

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
)

// Limits of one document, against hostile or broken files.
const (
	// MaxSize is the largest document in bytes.
	MaxSize = 64 << 20
	// MaxDepth is the maximum depth of lists and maps, aliases included.
	MaxDepth = 100
	// MaxExpansion is the maximum number of nodes that YAML aliases and merge keys add.
	MaxExpansion = 1_000_000
)

// Error is why a text cannot be parsed.
type Error struct {
	// File is the name given to Parse.
	File string
	// Line counts from 1.
	Line int
	// Reason is lower case and contains neither file nor line.
	Reason string
}

// Error returns FILE:LINE: REASON.
func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason) }

// Extensions returns the file name extensions that Parse reads, with their dot and in lower case.
func Extensions() []string { return []string{".yaml", ".yml", ".toml", ".json"} }

// Parse reads one document. The extension of name, in any case, chooses the language: .toml is TOML
// (version 1.1), .yaml, .yml and .json are YAML. An empty document is a Null node. Every error is an *Error.
//
// A key given twice in one map is an error that names both lines. YAML aliases and merge keys are resolved. A second
// YAML document in the same file is an error, unless it is empty, because it would not be read.
func Parse(name string, data []byte) (*Node, error) { return parse(name, data, false) }

// ParseWithDuplicates is Parse, except that duplicate keys are accepted: both entries are in Fields, in order. Decode
// reports them.
func ParseWithDuplicates(name string, data []byte) (*Node, error) { return parse(name, data, true) }

func parse(name string, data []byte, duplicates bool) (*Node, error) {
	if len(data) > MaxSize {
		return nil, &Error{File: name, Line: 1, Reason: fmt.Sprintf("is larger than %d MiB", MaxSize>>20)}
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	var (
		root *Node
		err  *Error
	)
	switch ext := strings.ToLower(filepath.Ext(name)); ext {
	case ".toml":
		root, err = parseTOML(data, duplicates)
	case ".yaml", ".yml", ".json":
		root, err = parseYAML(data, duplicates)
	default:
		err = &Error{Line: 1, Reason: fmt.Sprintf("has the extension %q; known are %s", ext, strings.Join(Extensions(),
			", "))}
	}
	if err != nil {
		err.File = name
		return nil, err
	}
	return root, nil
}
