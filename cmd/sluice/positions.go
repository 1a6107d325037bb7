package main

import (
	"os"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
)

// positions finds the lines of options in files with dynamic configurations. Verdicts on references and rules have the
// line of their object, since they are made of its definition alone.
type positions struct{ roots map[string]*document.Node }

// line returns the line of the option that a verdict is about, or else that of its origin.
func (p positions) line(verdict dynamic.Verdict) int {
	origin := verdict.Origin
	path, named := optionOf(verdict)
	if origin.File == "" || origin.Line == 0 || origin.Rendered || path == "" {
		return origin.Line
	}
	name, _, _ := strings.Cut(verdict.Ref.Name, "@")
	object := declaredAt(p.root(origin.File), origin.Line, name)
	if object == nil {
		return origin.Line
	}
	line, node := origin.Line, object.Value
	for part := range strings.SplitSeq(path, ".") {
		key, index, _ := strings.Cut(strings.TrimSuffix(part, "]"), "[")
		field := node.Get(key)
		if field == nil {
			return line
		}
		line, node = field.Line, field.Value
		if at, err := strconv.Atoi(index); err == nil && at < len(node.Items) {
			node = node.Items[at]
			line = node.Line
		}
	}
	for _, item := range node.Items {
		if bare, _, _ := strings.Cut(named, "@"); named != "" && (item.Value == named || item.Value == bare) {
			return item.Line
		}
	}
	return line
}

// root returns a file as it is now, or nil.
func (p positions) root(file string) *document.Node {
	if root, known := p.roots[file]; known {
		return root
	}
	data, err := os.ReadFile(file)
	if err == nil {
		p.roots[file], _ = document.ParseWithDuplicates(file, data)
	}
	return p.roots[file]
}

// declaredAt returns the entry with a name on a line, or nil.
func declaredAt(node *document.Node, line int, name string) *document.Field {
	if node == nil {
		return nil
	}
	for i := range node.Fields {
		field := &node.Fields[i]
		if field.Line == line && strings.EqualFold(field.Key, name) {
			return field
		}
		if found := declaredAt(field.Value, line, name); found != nil {
			return found
		}
	}
	return nil
}

// optionOf returns the path of the option below the object that a verdict is about, and the name of the object to which
// the option refers; both may be empty.
func optionOf(verdict dynamic.Verdict) (path, named string) {
	if verdict.ReasonCode() == dynamic.CodeInvalidRule {
		return "rule", ""
	}
	beginning, rest, quoted := strings.Cut(verdict.Reason, ` "`)
	if quoted {
		named, _, _ = strings.Cut(rest, `"`)
		switch beginning {
		case "service":
			return "service", named
		case "middleware":
			if verdict.Ref.Kind == dynamic.KindMiddleware {
				return "chain.middlewares", named
			}
			return "middlewares", named
		case "entrypoint":
			return "entryPoints", named
		case "serversTransport":
			return "loadBalancer.serversTransport", named
		case "tlsOptions":
			return "tls.options", named
		}
	}
	path, _, found := strings.Cut(verdict.Reason, ": ")
	if !found || strings.ContainsAny(path, ` "`) {
		return "", ""
	}
	return path, ""
}
