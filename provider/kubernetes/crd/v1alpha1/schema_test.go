package v1alpha1_test

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
)

// object is a part of a document in JSON.
type object = map[string]any

// exclude is the one rule in CEL that there is, which only an API server evaluates; here it is known by its text.
const exclude = "!(has(self.secret) && has(self.configMap))"

// validation does with a schema what the API server does, for the keywords that the definitions have.
type validation struct{ findings []string }

func (v *validation) find(path, format string, args ...any) {
	v.findings = append(v.findings, path+": "+fmt.Sprintf(format, args...))
}

// value looks at one value and all that is below it.
func (v *validation) value(path string, schema object, value any) {
	if schema["x-kubernetes-int-or-string"] == true {
		v.intOrString(path, schema, value)
		return
	}
	want, _ := schema["type"].(string)
	if got := typeOf(value); got != want && (want != "number" || got != "integer") {
		v.find(path, "expected %s, got %s", want, show(value))
		return
	}
	switch value := value.(type) {
	case object:
		v.object(path, schema, value)
	case []any:
		items, _ := schema["items"].(object)
		for i, item := range value {
			v.value(fmt.Sprintf("%s[%d]", path, i), items, item)
		}
	case string:
		v.text(path, schema, value)
	case float64:
		v.number(path, schema, value)
	}
}

func (v *validation) intOrString(path string, schema object, value any) {
	switch value := value.(type) {
	case string:
		v.text(path, schema, value)
	case float64:
		v.number(path, schema, value)
	default:
		v.find(path, "expected integer or string, got %s", show(value))
	}
}

func (v *validation) object(path string, schema, value object) {
	properties, _ := schema["properties"].(object)
	others, _ := schema["additionalProperties"].(object)
	for _, name := range slices.Sorted(maps.Keys(value)) {
		below := strings.TrimPrefix(path+"."+name, ".")
		switch property, known := properties[name].(object); {
		case known:
			v.value(below, property, value[name])
		case others != nil:
			v.value(below, others, value[name])
		case schema["x-kubernetes-preserve-unknown-fields"] != true:
			v.find(below, "is unknown")
		}
	}
	required, _ := schema["required"].([]any)
	for _, name := range required {
		if _, there := value[name.(string)]; !there {
			v.find(strings.TrimPrefix(path+"."+name.(string), "."), "is missing")
		}
	}
	if least, ok := schema["minProperties"].(float64); ok && len(value) < int(least) {
		v.find(path, "has %d keys, at least %v", len(value), least)
	}
	if most, ok := schema["maxProperties"].(float64); ok && len(value) > int(most) {
		v.find(path, "has %d keys, at most %v", len(value), most)
	}
	if schema["x-kubernetes-validations"] != nil && value["secret"] != nil && value["configMap"] != nil {
		v.find(path, "secret and configMap exclude one another")
	}
}

func (v *validation) text(path string, schema object, value string) {
	if allowed, ok := schema["enum"].([]any); ok && !slices.Contains(allowed, any(value)) {
		v.find(path, "%q is none of %v", value, allowed)
	}
	if pattern, ok := schema["pattern"].(string); ok && !regexp.MustCompile(pattern).MatchString(value) {
		v.find(path, "%q does not match %s", value, pattern)
	}
}

func (v *validation) number(path string, schema object, value float64) {
	if least, ok := schema["minimum"].(float64); ok && value < least {
		v.find(path, "%v is less than %v", value, least)
	}
	if most, ok := schema["maximum"].(float64); ok && value > most {
		v.find(path, "%v is more than %v", value, most)
	}
}

func typeOf(value any) string {
	switch value := value.(type) {
	case object:
		return "object"
	case []any:
		return "array"
	case string:
		return "string"
	case bool:
		return "boolean"
	case float64:
		if value == math.Trunc(value) {
			return "integer"
		}
		return "number"
	}
	return "null"
}

func show(value any) string {
	if text, ok := value.(string); ok {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprint(value)
}

// keywords are those that the validation above handles, or that change nothing about what is valid.
var keywords = strings.Fields(`type properties required items enum pattern minimum maximum additionalProperties
	minProperties maxProperties anyOf description format x-kubernetes-int-or-string x-kubernetes-preserve-unknown-fields
	x-kubernetes-validations x-kubernetes-list-type x-kubernetes-list-map-keys minLength maxLength`)

// structural reports what would keep an API server from taking a schema, and what lacks a description.
func (v *validation) structural(path string, schema object) {
	for keyword := range schema {
		if !slices.Contains(keywords, keyword) {
			v.find(path, "the keyword %s is not known here", keyword)
		}
	}
	if (schema["type"] == nil) != (schema["x-kubernetes-int-or-string"] == true) {
		v.find(path, "type %v with %v", schema["type"], schema["x-kubernetes-int-or-string"])
	}
	if schema["anyOf"] != nil && (schema["x-kubernetes-int-or-string"] != true ||
		fmt.Sprint(schema["anyOf"]) != "[map[type:integer] map[type:string]]") {
		v.find(path, "anyOf %v", schema["anyOf"])
	}
	if rules, ok := schema["x-kubernetes-validations"].([]any); ok &&
		(len(rules) != 1 || rules[0].(object)["rule"] != exclude) {
		v.find(path, "rules %v are not known here", rules)
	}
	if pattern, ok := schema["pattern"].(string); ok {
		if _, err := regexp.Compile(pattern); err != nil {
			v.find(path, "%v", err)
		}
	}
	properties, _ := schema["properties"].(object)
	others, _ := schema["additionalProperties"].(object)
	items, _ := schema["items"].(object)
	if properties != nil && others != nil || (schema["type"] == "array") != (items != nil) {
		v.find(path, "properties beside additionalProperties, or items beside no array")
	}
	for name, property := range properties {
		below := strings.TrimPrefix(path+"."+name, ".")
		if text, _ := property.(object)["description"].(string); below != "metadata" && !strings.HasSuffix(text, ".") {
			v.find(below, "is not described by a sentence: %q", text)
		}
		v.structural(below, property.(object))
	}
	if others != nil {
		v.structural(path+"[key]", others)
	}
	if items != nil {
		v.structural(path+"[]", items)
	}
}
