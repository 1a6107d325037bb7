package inject

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// merger merges fragments into a pod.
type merger struct {
	*injection
	original map[string]any // without any injection; never changed
	pod      map[string]any
	// injected are the names of the containers that templates define, in order: those with an image. Others are changes
	// of containers.
	injected []string
	own      overrides
}

// add merges one fragment.
func (m *merger) add(one fragment) error {
	if spec := child(one.content, "spec"); spec != nil {
		m.keepVolumes(one.template, spec)
		for _, list := range []string{initContainersKey, containersKey} {
			if err := m.prepare(spec, list); err != nil {
				return err
			}
		}
	}
	merged, err := mergeInto(m.pod, one.content, corev1.Pod{})
	if err != nil {
		return err
	}
	m.pod = merged
	return nil
}

// mergeInto is a strategic merge by the tags of a type. It changes both maps. A panic of the library, on a value of an
// unexpected type in a field that the type does not have, becomes an error.
func mergeInto(into, patch map[string]any, schema any) (out map[string]any, err error) {
	defer func() {
		if recover() != nil {
			out, err = nil, errors.New("cannot be merged into the pod")
		}
	}()
	return strategicpatch.StrategicMergeMapPatch(into, patch, schema)
}

// keepVolumes removes the volumes that the pod declares itself from a fragment: two definitions of a volume cannot be
// merged into one.
func (m *merger) keepVolumes(template string, spec map[string]any) {
	volumes := elements(spec, "volumes")
	own := elements(child(m.original, "spec"), "volumes")
	kept := slices.DeleteFunc(volumes, func(one map[string]any) bool {
		name := text(one, "name")
		if name == "" || one["$patch"] != nil || find(own, "name", name) == nil {
			return false
		}
		m.warn("template %q: the pod has a volume %q of its own, which is used", template, name)
		return true
	})
	if len(volumes) > 0 {
		put(spec, "volumes", kept)
	}
}

// prepare puts the containers of a fragment into the list in which the pod has them, and makes their variables replace
// those of the pod.
func (m *merger) prepare(fragment map[string]any, list string) error {
	for _, one := range elements(fragment, list) {
		name := text(one, "name")
		switch {
		case name == "":
			return fmt.Errorf("one of %s has no name", list)
		case one["$patch"] != nil:
			continue
		}
		defined := text(one, "image") != ""
		if defined && !slices.Contains(m.injected, name) {
			m.injected = append(m.injected, name)
		}
		existing := m.place(fragment, list, one, defined)
		if existing == nil && !defined {
			return fmt.Errorf("the container %q has no image, and the pod has no such container", name)
		}
		replaceVariables(existing, one)
	}
	return nil
}

// place returns the container of the pod that a container of a fragment will be merged with, or nil. Where the pod has
// it in the other list, a container that the fragment defines is moved to the list of the fragment, as the sidecar that
// a pod declares itself becomes a native one. A pod keeps at least one container, however.
func (m *merger) place(fragment map[string]any, list string, one map[string]any, defined bool) map[string]any {
	spec, name := ensure(m.pod, "spec"), text(one, "name")
	if existing := find(elements(spec, list), "name", name); existing != nil {
		return existing
	}
	other := containersKey
	if list == containersKey {
		other = initContainersKey
	}
	existing := find(elements(spec, other), "name", name)
	if existing == nil {
		return nil
	}
	if defined && (other == initContainersKey || len(elements(spec, other)) > 1) {
		putContainer(spec, list, other, existing)
		return existing
	}
	removeElements(fragment, list, "name", []string{name})
	if other == containersKey {
		delete(one, "restartPolicy")
	}
	put(fragment, other, append(elements(fragment, other), one))
	return existing
}

// replaceVariables changes a container that will be merged with an existing one: a variable that both have gets its
// source from the former alone, since a variable may have one source only.
func replaceVariables(existing, one map[string]any) {
	known := elements(existing, "env")
	for _, variable := range elements(one, "env") {
		was := find(known, "name", text(variable, "name"))
		if was == nil || variable["$patch"] != nil {
			continue
		}
		from, hasSource := variable["valueFrom"].(map[string]any)
		if !hasSource {
			variable["valueFrom"] = nil
			continue
		}
		variable["value"] = nil
		for source := range child(was, "valueFrom") {
			if _, ok := from[source]; !ok {
				from[source] = nil
			}
		}
	}
}

// complete does what follows the templates, and returns the pod.
func (m *merger) complete() (map[string]any, error) {
	if err := m.overrideAll(); err != nil {
		return nil, err
	}
	if err := m.addEnvironment(); err != nil {
		return nil, err
	}
	m.order()
	metadata := ensure(m.pod, "metadata")
	for key, value := range m.config.annotations {
		ensure(metadata, "annotations")[key] = value
	}
	added := newStatus(m.original, m.pod, &m.own)
	added.Revision, added.Templates = m.config.revision, m.result.Templates
	annotations := ensure(metadata, "annotations")
	encoded, err := json.Marshal(added)
	if err != nil {
		return nil, err
	}
	annotations[StatusKey] = string(encoded)
	if len(m.own.Containers)+len(m.own.InitContainers) == 0 {
		return m.pod, nil
	}
	if encoded, err = json.Marshal(m.own); err != nil {
		return nil, err
	}
	annotations[OverridesKey] = string(encoded)
	return m.pod, nil
}
