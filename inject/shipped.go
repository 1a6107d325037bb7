package inject

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/sluiceproxy/sluice/document"
)

//go:embed templates/*.yaml
var shipped embed.FS

// shippedSections returns the templates that ship, with the section of the values that each reads.
func shippedSections() map[string]string {
	return map[string]string{"env-tag": "envTag", "grpc-bootstrap": "grpcBootstrap", "sidecar": "sidecar"}
}

// ShippedTemplates returns the names of the templates that ship, in order.
func ShippedTemplates() []string { return slices.Sorted(maps.Keys(shippedSections())) }

// Default returns the configuration that is used where there is none: every template that ships can be chosen, and only
// labels inject.
func Default() (*Configuration, error) {
	text, err := fs.ReadFile(shipped, "templates/default.yaml")
	if err != nil {
		return nil, err
	}
	return Parse(text, nil)
}

// addShipped adds a template that ships, and its section of values with the defaults of those that are not given.
func (c *Configuration) addShipped(name string, values *document.Node) []fault {
	text, err := fs.ReadFile(shipped, "templates/"+name+".yaml")
	if err != nil {
		return []fault{{reason: err.Error()}}
	}
	if c.templates[name], err = compileTemplate(string(text)); err != nil {
		return []fault{{reason: fmt.Sprintf("template %q: %v", name, err)}}
	}
	c.templates[name].ships = true
	defaults, err := fs.ReadFile(shipped, "templates/values.yaml")
	if err != nil {
		return []fault{{reason: err.Error()}}
	}
	all, err := document.Parse("values.yaml", defaults)
	if err != nil {
		return []fault{{reason: err.Error()}}
	}
	section := shippedSections()[name]
	merged, faults := completeValues(section, all.Get(section).Value, values.Get(section))
	c.values[section] = merged
	return faults
}

// completeValues returns a section of the defaults with the values that are given. Each is a value of the same kind as
// the default.
func completeValues(section string, defaults *document.Node, given *document.Field) (map[string]any, []fault) {
	out := map[string]any{}
	var known []string
	for _, field := range defaults.Fields {
		out[field.Key] = plain(field.Value)
		known = append(known, field.Key)
	}
	if given == nil || given.Value.Kind == document.Null {
		return out, nil
	}
	if given.Value.Kind != document.Map {
		return out, []fault{{given.Line, section + ": expected a map, got " + given.Value.Kind.String()}}
	}
	var faults []fault
	for _, field := range given.Value.Fields {
		path := section + "." + document.ShowKey(field.Key)
		was := slices.IndexFunc(defaults.Fields, func(one document.Field) bool { return one.Key == field.Key })
		switch {
		case was < 0:
			faults = append(faults, fault{field.Line, path + ": " + document.Unknown(field.Key, known)})
		case field.Value.Kind == document.Null:
		default:
			value, reason := likeDefault(defaults.Fields[was].Value, field.Value)
			if reason != "" {
				faults = append(faults, fault{field.Line, path + ": " + reason})
			}
			out[field.Key] = value
		}
	}
	return out, faults
}

// likeDefault returns a value of the kind of its default. Where that is a string, any scalar is one.
func likeDefault(was, given *document.Node) (value any, reason string) {
	switch {
	case given.Kind != was.Kind:
		return nil, fmt.Sprintf("expected %s, got %s", was.Kind, given.Kind)
	case given.Kind == document.Scalar && was.Type == document.String:
		return given.Value, ""
	case given.Kind == document.Scalar && given.Type != was.Type:
		return nil, "expected an integer"
	}
	return plain(given), ""
}
