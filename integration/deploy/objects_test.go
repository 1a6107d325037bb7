package deploy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/sluiceproxy/sluice/integration/cluster"
)

const (
	manifests  = "../../deploy/kubernetes"
	namespaced = "../../deploy/kubernetes/namespaced"
	chart      = "../../deploy/helm/sluice"
	crds       = "../../deploy/crds"
	examples   = "../../deploy/examples/kubernetes"
)

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// object is one object of a cluster as in YAML.
type object map[string]any

// objects are by kind, namespace and name.
type objects map[string]object

// at returns the value under a path of keys and indexes, or nil.
func (o object) at(path ...any) any {
	var value any = map[string]any(o)
	for _, step := range path {
		switch step := step.(type) {
		case string:
			fields, _ := value.(map[string]any)
			value = fields[step]
		case int:
			items, _ := value.([]any)
			if step >= len(items) {
				return nil
			}
			value = items[step]
		}
	}
	return value
}

func (o object) text(path ...any) string {
	text, _ := o.at(path...).(string)
	return text
}

func (o object) list(path ...any) []object {
	items, _ := o.at(path...).([]any)
	var found []object
	for _, item := range items {
		if fields, ok := item.(map[string]any); ok {
			found = append(found, fields)
		}
	}
	return found
}

func (o object) words(path ...any) []string {
	items, _ := o.at(path...).([]any)
	var found []string
	for _, item := range items {
		found = append(found, fmt.Sprint(item))
	}
	return found
}

func (o object) key() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s/%s", o.text("kind"), o.text("metadata", "namespace"),
		o.text("metadata", "name")))
}

// the returns the one object of a kind.
func (o objects) the(t *testing.T, kind string) object {
	t.Helper()
	var found []object
	for key, one := range o {
		if strings.HasPrefix(key, kind+" ") {
			found = append(found, one)
		}
	}
	if len(found) != 1 {
		t.Fatalf("there are %d objects of kind %s", len(found), kind)
	}
	return found[0]
}

// without returns the objects of all kinds but these.
func (o objects) without(kinds ...string) objects {
	rest := objects{}
	for key, one := range o {
		if !slices.Contains(kinds, one.text("kind")) {
			rest[key] = one
		}
	}
	return rest
}

// parse reads a stream of YAML documents. Two objects of one kind and name are a failure.
func parse(t *testing.T, place string, content []byte) objects {
	t.Helper()
	found := objects{}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var fields map[string]any // A named type would be that of every map inside, too.
		err := decoder.Decode(&fields)
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatalf("%s: %v", place, err)
		}
		if fields == nil {
			continue
		}
		one := object(fields)
		if found[one.key()] != nil {
			t.Errorf("%s: %s is there twice", place, one.key())
		}
		found[one.key()] = one
	}
}

// build collects the objects that the kustomization of a folder names, with those of other folders, but for CRDs.
func build(t *testing.T, folder string) objects {
	t.Helper()
	kustomization := readYAML(t, filepath.Join(folder, "kustomization.yaml"))
	found := objects{}
	for _, name := range kustomization.words("resources") {
		var more objects
		switch {
		case filepath.Base(name) == "crds":
			continue
		case filepath.Ext(name) == "":
			more = build(t, filepath.Join(folder, name))
		default:
			more = parse(t, name, read(t, filepath.Join(folder, name)))
		}
		for key, one := range more {
			if found[key] != nil {
				t.Errorf("%s: %s is there twice", folder, key)
			}
			found[key] = one
		}
	}
	return found
}

func readYAML(t *testing.T, file string) object {
	t.Helper()
	return decode(t, file, read(t, file))
}

func decode(t *testing.T, place string, content []byte) object {
	t.Helper()
	var fields map[string]any
	if err := yaml.Unmarshal(content, &fields); err != nil {
		t.Fatalf("%s: %v", place, err)
	}
	return fields
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
