package manifest

import (
	"bytes"
	"encoding/base64"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// Object is one object with the place of its document.
type Object struct {
	*unstructured.Unstructured
	// File and Line are where the document begins.
	File string
	Line int
}

// IsManifest reports whether a text has a document with apiVersion and kind.
func IsManifest(data []byte) bool {
	for _, document := range split(data) {
		var head struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
		}
		if yaml.Unmarshal(document.text, &head) == nil && head.APIVersion != "" && head.Kind != "" {
			return true
		}
	}
	return false
}

// Read returns the objects of a text. A document that is not an object is an error with file and line; empty ones are
// skipped.
func Read(file string, data []byte) ([]Object, error) {
	var objects []Object
	for _, document := range split(data) {
		var content map[string]any
		if err := yaml.Unmarshal(document.text, &content); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, document.line, err)
		}
		if len(content) == 0 {
			continue
		}
		one := &unstructured.Unstructured{Object: content}
		if one.GetAPIVersion() == "" || one.GetKind() == "" {
			return nil, fmt.Errorf("%s:%d: the document has no apiVersion or no kind", file, document.line)
		}
		if !one.IsList() {
			objects = append(objects, Object{complete(one), file, document.line})
			continue
		}
		err := one.EachListItem(func(item runtime.Object) error {
			member, ok := item.(*unstructured.Unstructured)
			if !ok || member.GetKind() == "" {
				return fmt.Errorf("%s:%d: an item of the list has no kind", file, document.line)
			}
			objects = append(objects, Object{complete(member), file, document.line})
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// text is one document of a stream, and its first line.
type text struct {
	text []byte
	line int
}

// split takes a stream apart at the lines that begin with "---" (YAML 1.2, section 9.1.4).
func split(data []byte) []text {
	documents := []text{{line: 1}}
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if bytes.HasPrefix(line, []byte("---")) {
			documents = append(documents, text{line: number + 1})
			continue
		}
		last := &documents[len(documents)-1]
		if len(bytes.TrimSpace(last.text)) == 0 { // Empty lines before a document do not count.
			last.line, last.text = number, nil
		}
		last.text = append(last.text, line...)
	}
	return documents
}

// complete adds what an API server adds: the namespace default, and data for the stringData of a Secret.
func complete(object *unstructured.Unstructured) *unstructured.Unstructured {
	if object.GetNamespace() == "" && !clusterScoped(object.GetKind()) {
		object.SetNamespace("default")
	}
	object.SetResourceVersion("1")
	object.SetGeneration(1)
	if object.GetKind() == "Secret" {
		texts, _, _ := unstructured.NestedStringMap(object.Object, "stringData")
		for key, value := range texts {
			encoded := base64.StdEncoding.EncodeToString([]byte(value))
			_ = unstructured.SetNestedField(object.Object, encoded, "data", key) // data is a map, or absent.
		}
		unstructured.RemoveNestedField(object.Object, "stringData")
	}
	return object
}

// clusterScoped reports whether objects of a kind that is read have no namespace.
func clusterScoped(kind string) bool {
	switch kind {
	case "IngressClass", "Node", "Namespace":
		return true
	}
	return false
}
