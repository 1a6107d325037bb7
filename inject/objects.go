package inject

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"
	kjson "sigs.k8s.io/json"
)

// decodeObject reads a JSON object. Numbers stay as they are written, so that the patch touches none of them.
func decodeObject(data []byte) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var out map[string]any
	if err := decoder.Decode(&out); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the object")
	}
	if out == nil {
		return nil, errors.New("it is null")
	}
	return out, nil
}

// decodePod reads the fields that templates and decisions look at, as the API server does.
func decodePod(data []byte) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, pod); err != nil {
		return nil, err
	}
	return pod, nil
}

// child returns the map at a key; nil if there is none.
func child(parent map[string]any, key string) map[string]any {
	out, ok := parent[key].(map[string]any)
	if !ok {
		return nil
	}
	return out
}

// ensure returns the map at a key, which is added if there is none.
func ensure(parent map[string]any, key string) map[string]any {
	out := child(parent, key)
	if out == nil {
		out = map[string]any{}
		parent[key] = out
	}
	return out
}

// elements returns the objects of a list, and skips others.
func elements(parent map[string]any, key string) []map[string]any {
	list, ok := parent[key].([]any)
	if !ok {
		return nil
	}
	out := make([]map[string]any, 0, len(list))
	for _, one := range list {
		if element, ok := one.(map[string]any); ok {
			out = append(out, element)
		}
	}
	return out
}

// put sets a list, or removes it if it is empty.
func put(parent map[string]any, key string, list []map[string]any) {
	if len(list) == 0 {
		delete(parent, key)
		return
	}
	out := make([]any, len(list))
	for i, one := range list {
		out[i] = one
	}
	parent[key] = out
}

// text returns the string at a key, or "".
func text(parent map[string]any, key string) string {
	out, ok := parent[key].(string)
	if !ok {
		return ""
	}
	return out
}

// find returns the first object of a list whose key has the value; nil if there is none.
func find(list []map[string]any, key, value string) map[string]any {
	for _, one := range list {
		if text(one, key) == value {
			return one
		}
	}
	return nil
}

// decodeInto reads JSON into a value. Numbers in maps stay as they are written.
func decodeInto(data string, into any) error {
	decoder := json.NewDecoder(strings.NewReader(data))
	decoder.UseNumber()
	return decoder.Decode(into)
}

// withoutNulls removes the entries of maps that are null: what a template renders for an empty loop.
func withoutNulls(value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, one := range value {
			if one == nil {
				delete(value, key)
				continue
			}
			withoutNulls(one)
		}
	case []any:
		for _, one := range value {
			withoutNulls(one)
		}
	}
}
