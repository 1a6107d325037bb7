package inject

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/provider/gotemplate"
)

// settings are the keys of a configuration: those of Istio's sidecar injector, and below them the extensions.
type settings struct {
	Policy               string                 `json:"policy" enum:"enabled,disabled"`
	DefaultTemplates     []string               `json:"defaultTemplates"`
	Templates            map[string]string      `json:"templates"`
	Aliases              map[string][]string    `json:"aliases"`
	NeverInjectSelector  []metav1.LabelSelector `json:"neverInjectSelector"`
	AlwaysInjectSelector []metav1.LabelSelector `json:"alwaysInjectSelector"`
	InjectedAnnotations  map[string]string      `json:"injectedAnnotations"`
	// Template is what configurations before aliases had.
	Template string `json:"template"`

	BuiltinTemplates  []string `json:"builtinTemplates"`
	IgnoredNamespaces []string `json:"ignoredNamespaces"`
	IstioKeys         bool     `json:"istioKeys"`
	InjectHostNetwork bool     `json:"injectHostNetwork"`
	Revision          string   `json:"revision"`
}

// valuesKey is the key of a configuration with values, which may also be in a file of their own.
const valuesKey = "values"

// source is a text with its place in a file.
type source struct {
	file string
	data []byte
	skip int // lines of the file before the text
}

// fault is a mistake; line counts from 1 and is 0 if unknown.
type fault struct {
	line   int
	reason string
}

// at returns faults as errors with the place.
func (s source) at(faults []fault) error {
	slices.SortStableFunc(faults, func(a, b fault) int { return a.line - b.line })
	var all []error
	for _, one := range faults {
		all = append(all, &document.Error{File: s.file, Line: max(one.line, 1) + s.skip, Reason: one.reason})
	}
	return errors.Join(all...)
}

// parse reads the text as YAML.
func (s source) parse() (*document.Node, error) {
	root, err := document.Parse("x.yaml", s.data)
	if at, ok := errors.AsType[*document.Error](err); ok {
		return nil, s.at([]fault{{at.Line, at.Reason}})
	}
	return root, err
}

// inner returns the text of a scalar as a source of its own. The lines of block scalars are those of the file.
func (s source) inner(node *document.Node) source {
	return source{file: s.file, data: []byte(node.Value), skip: s.skip + s.firstLine(node) - 1}
}

// firstLine returns the line on which the text of a scalar begins.
func (s source) firstLine(node *document.Node) int {
	lines := bytes.Split(s.data, []byte("\n"))
	if node.Line > len(lines) {
		return node.Line
	}
	head := []rune(string(lines[node.Line-1]))
	if node.Column > 0 && node.Column <= len(head) && (head[node.Column-1] == '|' || head[node.Column-1] == '>') {
		return node.Line + 1
	}
	return node.Line
}

// Parse compiles a configuration: YAML in the form of the key config of an istio-sidecar-injector ConfigMap, with the
// extensions builtinTemplates, ignoredNamespaces, istioKeys, injectHostNetwork, revision and values, and the key values
// of that ConfigMap as JSON or YAML, or nil. Everything is checked, templates too, and either all or nothing is
// returned. The error joins a *document.Error, with the file config or values and the line, for each mistake.
func Parse(config, values []byte) (*Configuration, error) {
	return compile(source{file: "config", data: config}, source{file: valuesKey, data: values})
}

// compile compiles a configuration from its sources.
func compile(config, values source) (*Configuration, error) {
	root, err := config.parse()
	if err != nil {
		return nil, err
	}
	p := parser{source: config, root: root, values: root}
	if own := root.Get(valuesKey); own != nil {
		p.values = own.Value
		kept, _ := root.Split([]string{valuesKey})
		root = kept
	} else {
		p.values = &document.Node{}
	}
	given, err := values.parse()
	if err != nil {
		return nil, err
	}
	if given.Kind != document.Null {
		if p.values.Kind != document.Null {
			return nil, config.at([]fault{{root.Line, "values are given here and in " + values.file}})
		}
		p.values, p.valuesSource = given, values
	} else {
		p.valuesSource = config
	}
	return p.compile(root)
}

// parser makes a Configuration of documents.
type parser struct {
	source       source
	root, values *document.Node
	valuesSource source
	given        settings
	faults       []fault
}

func (p *parser) fail(line int, format string, args ...any) {
	p.faults = append(p.faults, fault{line, fmt.Sprintf(format, args...)})
}

// line returns the line of a key, or of a key below it.
func (p *parser) line(keys ...string) int {
	node, line := p.root, 1
	for _, key := range keys {
		field := node.Get(key)
		if field == nil {
			return line
		}
		node, line = field.Value, field.Line
	}
	return line
}

func (p *parser) compile(root *document.Node) (*Configuration, error) {
	if p.values.Kind != document.Null && p.values.Kind != document.Map {
		return nil, p.valuesSource.at([]fault{{p.values.Line, "expected a map, got " + p.values.Kind.String()}})
	}
	p.given = settings{
		Policy: string(policyDisabled), IstioKeys: true, DefaultTemplates: []string{"sidecar"},
		IgnoredNamespaces: []string{"kube-system", "kube-public", "kube-node-lease", "local-path-storage"},
	}
	for _, key := range []string{"defaultTemplates", "ignoredNamespaces"} { // Those given replace the defaults.
		if field := root.Get(key); field != nil && field.Value.Kind == document.List && len(field.Value.Items) == 0 {
			p.clear(key)
		}
	}
	for _, problem := range document.Decode(root, &p.given) {
		p.fail(problem.Line, "%s", problem)
	}
	if p.given.Template != "" {
		p.fail(p.line("template"), "template: belongs to an old version; put it below templates under a name")
	}
	c := &Configuration{
		policy: policy(strings.ToLower(p.given.Policy)), istioKeys: p.given.IstioKeys,
		hostNetwork: p.given.InjectHostNetwork, revision: p.given.Revision, ignored: map[string]bool{},
		annotations: p.given.InjectedAnnotations, templates: map[string]*compiled{}, defaults: p.given.DefaultTemplates,
		aliases: p.given.Aliases, values: map[string]any{}, results: newResults(p.source.data, p.valuesSource.data),
	}
	if values, ok := plain(p.values).(map[string]any); ok {
		c.values = values
	}
	for _, name := range p.given.IgnoredNamespaces {
		c.ignored[name] = true
	}
	c.never = p.selectors("neverInjectSelector", p.given.NeverInjectSelector)
	c.always = p.selectors("alwaysInjectSelector", p.given.AlwaysInjectSelector)
	for _, name := range slices.Sorted(maps.Keys(p.given.Templates)) {
		c.templates[name] = p.template(name)
	}
	valueFaults := p.shipped(c)
	p.references(c)
	if len(p.faults)+len(valueFaults) > 0 {
		return nil, errors.Join(p.source.at(p.faults), p.valuesSource.at(valueFaults))
	}
	return c, nil
}

// clear empties a list that has a default.
func (p *parser) clear(key string) {
	if key == "defaultTemplates" {
		p.given.DefaultTemplates = nil
	} else {
		p.given.IgnoredNamespaces = nil
	}
}

func (p *parser) selectors(key string, list []metav1.LabelSelector) []selector {
	out, err := compileSelectors(list)
	if err != nil {
		p.fail(p.line(key), "%s%v", key, err)
	}
	return out
}

// template compiles a template of the configuration. Errors have the line of the file and that of the template.
func (p *parser) template(name string) *compiled {
	one, err := compileTemplate(p.given.Templates[name])
	if err == nil {
		return one
	}
	line, reason := 1, err.Error()
	if at, ok := errors.AsType[*gotemplate.Error](err); ok {
		line, reason = at.Line, at.Reason
	}
	begin := p.line("templates", name)
	for _, field := range p.root.Get("templates").Value.Fields {
		if field.Key == name {
			begin = p.source.firstLine(field.Value)
		}
	}
	p.fail(begin+line-1, "template %s, line %d: %s", strconv.Quote(name), line, reason)
	return nil
}

// shipped adds the templates that ship and that the configuration names, and returns the mistakes in their values.
func (p *parser) shipped(c *Configuration) []fault {
	named := slices.Concat(p.given.BuiltinTemplates, p.given.DefaultTemplates)
	for _, list := range p.given.Aliases {
		named = append(named, list...)
	}
	var faults []fault
	for _, name := range slices.Compact(slices.Sorted(slices.Values(named))) {
		_, ships := shippedSections()[name]
		_, own := c.templates[name]
		chosen := slices.Contains(p.given.BuiltinTemplates, name)
		switch {
		case chosen && !ships:
			p.fail(p.line("builtinTemplates"), "builtinTemplates: %q is none of %s", name,
				strings.Join(ShippedTemplates(), ", "))
		case chosen && own:
			p.fail(p.line("templates", name), "template %q has the name of one of builtinTemplates", name)
		case ships && !own && p.given.Aliases[name] == nil:
			faults = append(faults, c.addShipped(name, p.values)...)
		}
	}
	return faults
}

// references checks the names of templates.
func (p *parser) references(c *Configuration) {
	for alias, list := range p.given.Aliases {
		for _, name := range list {
			if _, ok := c.templates[name]; !ok {
				p.fail(p.line("aliases", alias), "aliases.%s: %v", alias, c.unknown(name))
			}
		}
	}
	if _, err := c.resolve(c.defaults); err != nil {
		p.fail(p.line("defaultTemplates"), "defaultTemplates: %v", err)
	}
}

// resolve replaces aliases by their templates, and leaves out repetitions.
func (c *Configuration) resolve(names []string) ([]string, error) {
	var out []string
	for _, name := range names {
		list, isAlias := c.aliases[name]
		if !isAlias {
			list = []string{name}
		}
		for _, one := range list {
			if _, ok := c.templates[one]; !ok {
				return nil, c.unknown(one)
			}
			if !slices.Contains(out, one) {
				out = append(out, one)
			}
		}
	}
	return out, nil
}

func (c *Configuration) unknown(name string) error {
	known := slices.Sorted(maps.Keys(c.templates))
	if near, ok := document.Nearest(name, known); ok {
		return fmt.Errorf("there is no template %q, did you mean %q?", name, near)
	}
	return fmt.Errorf("there is no template %q; there are: %s", name, strings.Join(known, ", "))
}

// Templates returns the names of the templates that pods can choose, in order, without aliases.
func (c *Configuration) Templates() []string { return slices.Sorted(maps.Keys(c.templates)) }

// plain returns a node as maps, lists, strings, int64, float64, bool and nil.
func plain(node *document.Node) any {
	switch node.Kind {
	case document.Map:
		out := make(map[string]any, len(node.Fields))
		for i := range node.Fields {
			out[node.Fields[i].Key] = plain(node.Fields[i].Value)
		}
		return out
	case document.List:
		out := make([]any, len(node.Items))
		for i, item := range node.Items {
			out[i] = plain(item)
		}
		return out
	case document.Scalar:
		return plainScalar(node)
	default:
		return nil
	}
}

func plainScalar(node *document.Node) any {
	switch node.Type {
	case document.Int:
		if value, err := node.Int(); err == nil {
			return value
		}
	case document.Float:
		if value, err := strconv.ParseFloat(strings.ReplaceAll(node.Value, "_", ""), 64); err == nil {
			return value
		}
	case document.Bool:
		if value, err := strconv.ParseBool(strings.ToLower(node.Value)); err == nil {
			return value
		}
	case document.String:
	}
	return node.Value
}
