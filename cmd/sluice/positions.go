package main

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
)

// positions finds the lines of options in files with dynamic configurations. Verdicts on references and rules have the
// line of their object, since they are made of its definition alone.
type positions struct {
	// fields are the entries of each file by line, outer ones first.
	fields map[string]map[int][]*document.Field
}

// line returns the line of the option that a verdict is about, or else that of its origin.
func (p positions) line(verdict dynamic.Verdict) int {
	origin := verdict.Origin
	path, named := optionOf(verdict)
	if origin.File == "" || origin.Line == 0 || origin.Rendered || path == "" {
		return origin.Line
	}
	name, _, _ := strings.Cut(verdict.Ref.Name, "@")
	entries := p.file(origin.File)[origin.Line]
	at := slices.IndexFunc(entries, func(one *document.Field) bool { return strings.EqualFold(one.Key, name) })
	if at < 0 {
		return origin.Line
	}
	line, node := origin.Line, entries[at].Value
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

// file returns the entries of a file as it is now.
func (p positions) file(name string) map[int][]*document.Field {
	if fields, known := p.fields[name]; known {
		return fields
	}
	fields := map[int][]*document.Field{}
	p.fields[name] = fields
	data, err := os.ReadFile(name)
	if err != nil {
		return fields
	}
	root, _ := document.ParseWithDuplicates(name, data)
	index(root, fields)
	return fields
}

// index adds the entries below a node.
func index(node *document.Node, fields map[int][]*document.Field) {
	if node == nil {
		return
	}
	for i := range node.Fields {
		field := &node.Fields[i]
		fields[field.Line] = append(fields[field.Line], field)
		index(field.Value, fields)
	}
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
