package manifest

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// templatePath returns where an object has its pod template: empty for a pod, nil for objects without one.
func templatePath(object map[string]any) []string {
	group, _, found := strings.Cut(kindOf(object, "apiVersion"), "/")
	if !found {
		group = ""
	}
	switch group + " " + kindOf(object, "kind") {
	case " Pod":
		return []string{}
	case " ReplicationController", "apps Deployment", "apps DaemonSet", "apps ReplicaSet", "apps StatefulSet",
		"extensions Deployment", "extensions DaemonSet", "extensions ReplicaSet", "batch Job",
		" DeploymentConfig", "apps.openshift.io DeploymentConfig", "argoproj.io Rollout":
		return []string{"spec", "template"}
	case "batch CronJob":
		return []string{"spec", "jobTemplate", "spec", "template"}
	}
	return nil
}

// located is an object of a document with the way to it: none, or items and an index of a List.
type located struct {
	path   []string
	object map[string]any
}

// objects returns the object of a document, or those of a List.
func objects(root map[string]any) []located {
	items, isList := root["items"].([]any)
	if !isList || !strings.HasSuffix(kindOf(root, "kind"), "List") {
		return []located{{nil, root}}
	}
	var out []located
	for i, item := range items {
		if object, ok := item.(map[string]any); ok {
			for _, inner := range objects(object) {
				out = append(out, located{append([]string{"items", strconv.Itoa(i)}, inner.path...), inner.object})
			}
		}
	}
	return out
}

// kindOf returns a string of an object, or "".
func kindOf(object map[string]any, key string) string {
	out, _ := object[key].(string)
	return out
}

// describe returns the kind, the namespace and the name of an object.
func describe(object map[string]any) string {
	metadata, _ := object["metadata"].(map[string]any)
	name := kindOf(metadata, "name")
	if name == "" {
		name = kindOf(metadata, "generateName")
	}
	if namespace := kindOf(metadata, "namespace"); namespace != "" {
		name = namespace + "/" + name
	}
	return strings.TrimSpace(kindOf(object, "kind") + " " + name)
}

// at returns the value at a path; nil if there is none.
func at(value any, path []string) any {
	for _, key := range path {
		switch parent := value.(type) {
		case map[string]any:
			value = parent[key]
		case []any:
			value = nil
			if i, err := strconv.Atoi(key); err == nil && i < len(parent) {
				value = parent[i]
			}
		default:
			return nil
		}
	}
	return value
}

// replaced returns a map in which the value at a path is another one. The given map is not changed.
func replaced(root map[string]any, path []string, content map[string]any) map[string]any {
	out, _ := replacedValue(root, path, content).(map[string]any)
	return out
}

func replacedValue(value any, path []string, content map[string]any) any {
	if len(path) == 0 {
		return content
	}
	switch parent := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(parent))
		for key, one := range parent {
			out[key] = one
		}
		out[path[0]] = replacedValue(parent[path[0]], path[1:], content)
		return out
	case []any:
		out := append([]any{}, parent...)
		if i, err := strconv.Atoi(path[0]); err == nil && i < len(out) {
			out[i] = replacedValue(parent[i], path[1:], content)
		}
		return out
	}
	return value
}

// linesOf returns a function for the lines of the objects of a document.
func linesOf(from document) func(path []string) int {
	root, err := parseNode(from.text)
	return func(path []string) int {
		node := root
		if err != nil || node == nil {
			return from.line
		}
		for _, key := range path {
			if node = below(node, key); node == nil {
				return from.line
			}
		}
		return from.line + node.Line - 1
	}
}

// below returns the value at a key, or at an index.
func below(node *yaml.Node, key string) *yaml.Node {
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == key {
				return node.Content[i+1]
			}
		}
	case yaml.SequenceNode:
		if i, err := strconv.Atoi(key); err == nil && i < len(node.Content) {
			return node.Content[i]
		}
	}
	return nil
}
