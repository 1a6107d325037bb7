package static

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/document"
)

// findFile returns the first configuration file in the usual places, or "".
func findFile(environ environment) string {
	directories := []string{"/etc/sluice", "/etc/traefik"}
	if config := environ.value("XDG_CONFIG_HOME"); config != "" {
		directories = append(directories, config)
	}
	if home := environ.value("HOME"); home != "" {
		directories = append(directories, filepath.Join(home, ".config"))
	}
	directories = append(directories, ".")
	for _, directory := range directories {
		for _, name := range []string{"sluice", "traefik"} {
			for _, extension := range []string{".toml", ".yaml", ".yml"} {
				path := filepath.Join(directory, name+extension)
				if _, err := os.Stat(path); err == nil {
					return path
				}
			}
		}
	}
	return ""
}

// readFile merges a configuration file into root.
func readFile(path string, root *setting, r *report) {
	data, err := os.ReadFile(path)
	if err != nil {
		reason := err.Error()
		if pathError, ok := errors.AsType[*fs.PathError](err); ok {
			reason = pathError.Err.Error()
		}
		r.fail(origin{file: path}, "", "cannot be read: %s", reason)
		return
	}
	readDocument(path, data, root, r)
}

// readDocument merges the text of a configuration file into root.
func readDocument(path string, data []byte, root *setting, r *report) {
	node, err := document.Parse(path, data)
	if err != nil {
		from, reason := origin{file: path}, err.Error()
		if parseError, ok := errors.AsType[*document.Error](err); ok {
			from.line, reason = parseError.Line, parseError.Reason
		}
		r.fail(from, "", "%s", reason)
		return
	}
	if node.Kind == document.Null {
		return
	}
	reader := fileReader{file: path, report: r}
	if node.Kind != document.Map {
		r.fail(reader.at(node.Line), "", "expected a map of options, got %s", node.Kind)
		return
	}
	reader.section(root, node)
}

// fileReader walks a document along the options.
type fileReader struct {
	file   string
	report *report
}

func (f fileReader) at(line int) origin {
	return origin{file: f.file, line: line, rank: rankFile}
}

// read merges one node into its setting; line is that of its key.
func (f fileReader) read(s *setting, node *document.Node, line int) {
	switch s.option.shape {
	case section:
		f.readSection(s, node, line)
	case named:
		f.readNamed(s, node, line)
	case listed:
		f.readListed(s, node, line)
	case scalars, scalar:
		f.readValue(s, node, line)
	case free:
		s.set(f.at(line), nil)
	}
}

func (f fileReader) readSection(s *setting, node *document.Node, line int) {
	switch node.Kind {
	case document.Map:
		s.written = true
		f.section(s, node)
	case document.Null:
		s.written = true
	case document.Scalar:
		writeSwitch(s, node.Value, f.at(line), f.report)
	case document.List:
		f.mismatch(s, node, line)
	}
}

// section merges the fields of a map into a section.
func (f fileReader) section(s *setting, node *document.Node) {
	for i := range node.Fields {
		field := &node.Fields[i]
		child := s.option.child(field.Key)
		if child == nil {
			reportUnknown(f.report, f.at(field.Line), s, field.Key)
			continue
		}
		f.read(s.enter(child, child.name, f.at(field.Line)), field.Value, field.Line)
	}
}

func (f fileReader) readNamed(s *setting, node *document.Node, line int) {
	switch node.Kind {
	case document.Null:
	case document.Map:
		for i := range node.Fields {
			field := &node.Fields[i]
			if field.Key == "" {
				f.report.fail(f.at(field.Line), s.path, "a name in it is empty")
				continue
			}
			f.read(s.enter(s.option.element, field.Key, f.at(field.Line)), field.Value, field.Line)
		}
	default:
		f.mismatch(s, node, line)
	}
}

func (f fileReader) readListed(s *setting, node *document.Node, line int) {
	switch node.Kind {
	case document.Null:
	case document.List:
		for i, element := range node.Items {
			f.read(s.enter(s.option.element, index(i), f.at(element.Line)), element, element.Line)
		}
	default:
		f.mismatch(s, node, line)
	}
}

func (f fileReader) readValue(s *setting, node *document.Node, line int) {
	if node.Kind == document.Null {
		return
	}
	if s.written {
		f.report.fail(f.at(line), s.path, "is given twice, first in line %d", s.origin.line)
		return
	}
	switch {
	case node.Kind == document.Scalar && s.option.shape == scalar:
		s.set(f.at(line), []item{{text: plain(s.option, node), line: line}})
	case node.Kind == document.Scalar:
		s.set(f.at(line), split(node.Value, node.Line))
	case node.Kind == document.List && s.option.shape == scalars:
		items := make([]item, 0, len(node.Items))
		for i, element := range node.Items {
			if element.Kind != document.Scalar {
				f.report.fail(f.at(element.Line), s.path+index(i), "expected %s, got %s", s.option.expectedValue(), element.Kind)
				continue
			}
			items = append(items, item{text: plain(s.option, element), line: element.Line})
		}
		s.set(f.at(line), items)
	default:
		f.mismatch(s, node, line)
	}
}

func (f fileReader) mismatch(s *setting, node *document.Node, line int) {
	f.report.fail(f.at(line), s.path, "expected %s, got %s", s.option.expected(), node.Kind)
}

// plain returns the text of a scalar; integers come in the base that every source has in common.
func plain(o *option, node *document.Node) string {
	switch o.typ.Kind() {
	case reflect.Int, reflect.Int64:
		if v, err := node.Int(); err == nil && node.Type != document.String {
			return strconv.FormatInt(v, 10)
		}
	case reflect.Float64:
		if node.Type != document.String {
			return strings.ReplaceAll(node.Value, "_", "")
		}
	default:
	}
	return node.Value
}

// index is the name of an element of a list.
func index(i int) string {
	return "[" + strconv.Itoa(i) + "]"
}

// split reads a list that is written as one text with commas.
func split(text string, line int) []item {
	var items []item
	for _, part := range document.SplitList(text) {
		items = append(items, item{text: part, line: line})
	}
	return items
}
