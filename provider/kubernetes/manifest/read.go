package manifest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/sluiceproxy/sluice/document"
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
	for _, one := range split(data) {
		var head struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
		}
		if yaml.Unmarshal(one.text, &head) == nil && head.APIVersion != "" && head.Kind != "" {
			return true
		}
	}
	return false
}

// Fault is a document, or an object in it, that cannot be read, and is left out, or a field that is.
type Fault struct {
	// File and Line are where the document begins, or where its syntax is wrong.
	File string
	Line int
	// Object is its kind, namespace and name, as far as they are known.
	Object string
	// Reason is what is wrong.
	Reason string
	// Ignored is whether the object is read, without a field that its kind does not have.
	Ignored bool
}

// String returns FILE:LINE: OBJECT: REASON.
func (f Fault) String() string {
	if f.Object == "" {
		return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Reason)
	}
	return fmt.Sprintf("%s:%d: %s: %s", f.File, f.Line, f.Object, f.Reason)
}

// Read returns the objects of a text, and what in it cannot be read. Empty documents are skipped.
func Read(file string, data []byte) ([]Object, []Fault) {
	r := reader{file: file}
	for _, one := range split(data) {
		r.read(one)
	}
	return r.objects, r.faults
}

// reader reads the documents of a file.
type reader struct {
	file    string
	objects []Object
	faults  []Fault
}

func (r *reader) refuse(line int, object, reason string) {
	r.faults = append(r.faults, Fault{File: r.file, Line: line, Object: object, Reason: reason})
}

// read adds the objects of a document.
func (r *reader) read(from text) {
	var content map[string]any
	if err := yaml.Unmarshal(from.text, &content); err != nil {
		r.refuse(from.line, "", err.Error())
		return
	}
	if len(content) == 0 {
		return
	}
	one := &unstructured.Unstructured{Object: content}
	if one.GetAPIVersion() == "" || one.GetKind() == "" {
		r.refuse(from.line, "", "the document has no apiVersion or no kind")
		return
	}
	nodes := from.objects()
	if !one.IsList() {
		r.add(one, nodes(0), from.line)
		return
	}
	index := -1
	err := one.EachListItem(func(item runtime.Object) error {
		index++
		member, ok := item.(*unstructured.Unstructured)
		if !ok || member.GetKind() == "" {
			r.refuse(from.line, "", "an item of the list has no kind")
			return nil
		}
		r.add(member, nodes(index), from.line)
		return nil
	})
	if err != nil {
		r.refuse(from.line, "", err.Error())
	}
}

// add adds an object whose fields have the types that clients decode. node is where it stands, or nil.
func (r *reader) add(object *unstructured.Unstructured, node *document.Node, line int) {
	if reason := undecodable(object); reason != "" {
		r.refuse(line, describe(object), reason)
		return
	}
	if node != nil {
		r.unknown(object, node, line)
	}
	r.objects = append(r.objects, Object{complete(object), r.file, line})
}

// describe returns the kind, the namespace and the name of an object.
func describe(object *unstructured.Unstructured) string {
	name := object.GetName()
	if namespace := object.GetNamespace(); namespace != "" {
		name = namespace + "/" + name
	}
	return strings.TrimSpace(object.GetKind() + " " + name)
}

// undecodable returns the reason why clients cannot decode an object; one such object in a list makes the list
// undecodable. The kinds of v1alpha1 report malformed fields by themselves.
func undecodable(object *unstructured.Unstructured) string {
	encoded, err := json.Marshal(object.Object)
	if err != nil {
		return err.Error()
	}
	targets := []any{&metav1.PartialObjectMetadata{}}
	if typed := typeOf(object.GetAPIVersion(), object.GetKind()); typed != nil {
		targets = append(targets, typed)
	}
	for _, target := range targets {
		if err := json.Unmarshal(encoded, target); err != nil {
			return explain(err)
		}
	}
	return ""
}

// typeOf returns an empty object of a kind that is read; nil for any other.
func typeOf(apiVersion, kind string) any {
	switch apiVersion + " " + kind {
	case "v1 Service":
		return &corev1.Service{}
	case "v1 Secret":
		return &corev1.Secret{}
	case "v1 ConfigMap":
		return &corev1.ConfigMap{}
	case "v1 Node":
		return &corev1.Node{}
	case "discovery.k8s.io/v1 EndpointSlice":
		return &discoveryv1.EndpointSlice{}
	case "networking.k8s.io/v1 Ingress":
		return &networkingv1.Ingress{}
	case "networking.k8s.io/v1 IngressClass":
		return &networkingv1.IngressClass{}
	}
	return gatewayType(apiVersion, kind)
}

// explain returns an error of decoding without the words of Go.
func explain(err error) string {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		return fmt.Sprintf("%s: a %s is not allowed here", wrong.Field, wrong.Value)
	}
	return err.Error()
}

// text is one document of a stream, and its first line.
type text struct {
	text []byte
	line int
}

// objects returns the object of a document, or those of a list, with their positions; nil for one that is not found.
func (t text) objects() func(index int) *document.Node {
	root, err := document.ParseWithDuplicates("manifest.yaml", t.text)
	if err != nil {
		return func(int) *document.Node { return nil }
	}
	all := []*document.Node{root}
	if kind := root.Get("kind"); kind != nil && strings.HasSuffix(kind.Value.Value, "List") {
		all = nil
		if items := root.Get("items"); items != nil {
			all = items.Value.Items
		}
	}
	return func(index int) *document.Node {
		if index < len(all) {
			return all[index]
		}
		return nil
	}
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
	if served := servedVersion(object.GetAPIVersion(), object.GetKind()); served != object.GetAPIVersion() {
		object.SetAPIVersion(served)
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
	case "IngressClass", "Node", "Namespace", "GatewayClass":
		return true
	}
	return false
}
