package inject

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

const (
	// StatusKey is the annotation of an injected pod with what was added to it, as JSON.
	StatusKey = "inject.sluice.dev/status"
	// OverridesKey is the annotation with the containers that the pod declares itself and that templates have as well, as
	// they were before the injection. There is none without such containers.
	OverridesKey = "inject.sluice.dev/overrides"
)

// status is what an injection has added to a pod: names, or keys, of what was not there before.
type status struct {
	Revision         string   `json:"revision,omitempty"`
	Templates        []string `json:"templates"`
	InitContainers   []string `json:"initContainers,omitempty"`
	Containers       []string `json:"containers,omitempty"`
	Volumes          []string `json:"volumes,omitempty"`
	ImagePullSecrets []string `json:"imagePullSecrets,omitempty"`
	Labels           []string `json:"labels,omitempty"`
	Annotations      []string `json:"annotations,omitempty"`
	// Env and VolumeMounts are by the name of the container.
	Env          map[string][]string `json:"env,omitempty"`
	VolumeMounts map[string][]string `json:"volumeMounts,omitempty"`
}

// overrides are containers that the pod declares itself, by the list in which it does.
type overrides struct {
	InitContainers []map[string]any `json:"initContainers,omitempty"`
	Containers     []map[string]any `json:"containers,omitempty"`
}

// The lists of containers of a pod that templates may change.
const containersKey, initContainersKey = "containers", "initContainers"

// restore returns the pod without what an earlier injection added, and whether there was one. The result shares values
// with the received pod, which is not changed.
func (i *injection) restore() (original map[string]any, restored bool, err error) {
	value, injected := i.pod.Annotations[StatusKey]
	if !injected {
		return i.received, false, nil
	}
	var was status
	if err := json.Unmarshal([]byte(value), &was); err != nil {
		return nil, false, fmt.Errorf("annotation %s: %w", StatusKey, err)
	}
	var own overrides
	if value, ok := i.pod.Annotations[OverridesKey]; ok {
		if err := decodeInto(value, &own); err != nil {
			return nil, false, fmt.Errorf("annotation %s: %w", OverridesKey, err)
		}
	}
	original = runtime.DeepCopyJSON(i.received)
	was.Annotations = append(was.Annotations, StatusKey, OverridesKey)
	was.remove(original)
	own.put(original)
	encoded, err := json.Marshal(original)
	if err != nil {
		return nil, false, err
	}
	namespace := i.pod.Namespace
	if i.pod, err = decodePod(encoded); err != nil {
		return nil, false, fmt.Errorf("annotation %s: %w", OverridesKey, err)
	}
	i.pod.Namespace = namespace
	return original, true, nil
}

// remove removes what was added. A list or a map that becomes empty did not exist before.
func (s *status) remove(pod map[string]any) {
	if metadata := child(pod, "metadata"); metadata != nil {
		removeKeys(metadata, "labels", s.Labels)
		removeKeys(metadata, "annotations", s.Annotations)
	}
	spec := child(pod, "spec")
	if spec == nil {
		return
	}
	removeElements(spec, initContainersKey, "name", s.InitContainers)
	removeElements(spec, containersKey, "name", s.Containers)
	removeElements(spec, "volumes", "name", s.Volumes)
	removeElements(spec, "imagePullSecrets", "name", s.ImagePullSecrets)
	for _, list := range []string{initContainersKey, containersKey} {
		for _, container := range elements(spec, list) {
			removeElements(container, "env", "name", s.Env[text(container, "name")])
			removeElements(container, "volumeMounts", "mountPath", s.VolumeMounts[text(container, "name")])
		}
	}
}

func removeKeys(parent map[string]any, key string, names []string) {
	values := child(parent, key)
	had := len(values)
	for _, name := range names {
		delete(values, name)
	}
	if had > 0 && len(values) == 0 {
		delete(parent, key)
	}
}

func removeElements(parent map[string]any, list, key string, names []string) {
	if len(names) == 0 {
		return
	}
	put(parent, list, slices.DeleteFunc(elements(parent, list), func(one map[string]any) bool {
		return slices.Contains(names, text(one, key))
	}))
}

// put replaces containers by those that the pod declared itself. One that was moved to the other list is moved back.
func (o *overrides) put(pod map[string]any) {
	spec := ensure(pod, "spec")
	for _, one := range o.Containers {
		putContainer(spec, containersKey, initContainersKey, one)
	}
	for _, one := range o.InitContainers {
		putContainer(spec, initContainersKey, containersKey, one)
	}
}

func putContainer(spec map[string]any, list, other string, container map[string]any) {
	name := text(container, "name")
	containers := elements(spec, list)
	at := slices.IndexFunc(containers, func(one map[string]any) bool { return text(one, "name") == name })
	if at >= 0 {
		containers[at] = container
	} else {
		removeElements(spec, other, "name", []string{name})
		containers = append(containers, container)
	}
	put(spec, list, containers)
}

// newStatus returns what the second pod has beside the first one. Containers that the pod declares itself are not
// listed: they are in the overrides.
func newStatus(before, after map[string]any, own *overrides) status {
	var s status
	s.Labels = addedKeys(child(before, "metadata"), child(after, "metadata"), "labels")
	s.Annotations = addedKeys(child(before, "metadata"), child(after, "metadata"), "annotations")
	was, is := child(before, "spec"), child(after, "spec")
	s.InitContainers = own.without(addedElements(was, is, initContainersKey, "name"))
	s.Containers = own.without(addedElements(was, is, containersKey, "name"))
	s.Volumes = addedElements(was, is, "volumes", "name")
	s.ImagePullSecrets = addedElements(was, is, "imagePullSecrets", "name")
	for _, list := range []string{initContainersKey, containersKey} {
		known := elements(was, list)
		for _, container := range elements(is, list) {
			name := text(container, "name")
			old := find(known, "name", name)
			if old == nil || own.has(name) {
				continue
			}
			collect(&s.Env, name, addedElements(old, container, "env", "name"))
			collect(&s.VolumeMounts, name, addedElements(old, container, "volumeMounts", "mountPath"))
		}
	}
	return s
}

func collect(into *map[string][]string, name string, added []string) {
	if len(added) == 0 {
		return
	}
	if *into == nil {
		*into = map[string][]string{}
	}
	(*into)[name] = added
}

func addedKeys(before, after map[string]any, key string) []string {
	known := child(before, key)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(child(after, key))) {
		if _, ok := known[name]; !ok {
			out = append(out, name)
		}
	}
	return out
}

func addedElements(before, after map[string]any, list, key string) []string {
	known := elements(before, list)
	var out []string
	for _, one := range elements(after, list) {
		if name := text(one, key); name != "" && find(known, key, name) == nil {
			out = append(out, name)
		}
	}
	return out
}

// has reports whether a container is among the overrides.
func (o *overrides) has(name string) bool {
	return find(o.Containers, "name", name) != nil || find(o.InitContainers, "name", name) != nil
}

func (o *overrides) without(names []string) []string { return slices.DeleteFunc(names, o.has) }
