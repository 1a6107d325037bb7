package inject

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
)

// imageAuto is the image of a container that a pod declares itself without choosing the image.
const imageAuto = "auto"

// overrideAll merges the containers that the pod declares itself over those of the same name that templates define.
func (m *merger) overrideAll() error {
	spec := child(m.original, "spec")
	for _, name := range m.injected {
		for _, list := range []string{initContainersKey, containersKey} {
			own := find(elements(spec, list), "name", name)
			if own == nil {
				continue
			}
			if err := m.override(name, own); err != nil {
				return fmt.Errorf("container %q: %w", name, err)
			}
			if list == containersKey {
				m.own.Containers = append(m.own.Containers, own)
			} else {
				m.own.InitContainers = append(m.own.InitContainers, own)
			}
			break
		}
	}
	return nil
}

// override merges a container of the pod over the one that it has become.
func (m *merger) override(name string, own map[string]any) error {
	spec := child(m.pod, "spec")
	for _, list := range []string{initContainersKey, containersKey} {
		containers := elements(spec, list)
		at := slices.IndexFunc(containers, func(one map[string]any) bool { return text(one, "name") == name })
		if at < 0 {
			continue
		}
		over := runtime.DeepCopyJSON(own)
		if image := text(over, "image"); image == imageAuto || image == "" {
			delete(over, "image")
		}
		for _, key := range []string{"livenessProbe", "readinessProbe", "startupProbe", "lifecycle"} {
			if over[key] != nil { // Each of them has one action only.
				delete(containers[at], key)
			}
		}
		ports := unitePorts(elements(over, "ports"), elements(containers[at], "ports"))
		delete(over, "ports")
		replaceVariables(containers[at], over)
		merged, err := mergeInto(containers[at], over, corev1.Container{})
		if err != nil {
			return err
		}
		put(merged, "ports", ports)
		containers[at] = merged
		put(spec, list, containers)
	}
	return nil
}

// unitePorts returns the ports of a container of the pod, and those of the template with other numbers and protocols.
// (A strategic merge takes two ports of the same number for one.)
func unitePorts(own, others []map[string]any) []map[string]any {
	for _, other := range others {
		if !slices.ContainsFunc(own, func(one map[string]any) bool {
			return one["containerPort"] == other["containerPort"] && protocol(one) == protocol(other)
		}) {
			own = append(own, other)
		}
	}
	return own
}

func protocol(port map[string]any) string {
	return cmp.Or(text(port, "protocol"), string(corev1.ProtocolTCP))
}

// addEnvironment sets the variables of the request in the containers that templates define.
func (m *merger) addEnvironment() error {
	spec := child(m.pod, "spec")
	for _, pair := range m.input.Environment {
		name := environmentName(pair.Key)
		if problems := validation.IsEnvVarName(name); len(problems) > 0 {
			return fmt.Errorf("the environment of the request: %q cannot be the name of a variable", name)
		}
		for _, list := range []string{initContainersKey, containersKey} {
			for _, container := range elements(spec, list) {
				if slices.Contains(m.injected, text(container, "name")) {
					setVariable(container, name, pair.Value)
				}
			}
		}
	}
	return nil
}

// environmentName returns the name of the variable for a key of a request.
func environmentName(key string) string {
	switch key {
	case "cluster":
		return "ISTIO_META_CLUSTER_ID"
	case "net":
		return "ISTIO_META_NETWORK"
	}
	return strings.ToUpper(key)
}

func setVariable(container map[string]any, name, value string) {
	variables := elements(container, "env")
	if existing := find(variables, "name", name); existing != nil {
		existing["value"] = value
		delete(existing, "valueFrom")
		return
	}
	put(container, "env", append(variables, map[string]any{"name": name, "value": value}))
}

// order puts the containers in their order: those of the pod stay as they are, followed by those that templates define.
// Of init containers, native sidecars come first, so that the others can use them.
func (m *merger) order() {
	spec := child(m.pod, "spec")
	before := child(m.original, "spec")
	for _, list := range []string{initContainersKey, containersKey} {
		containers := elements(spec, list)
		if len(containers) == 0 {
			continue
		}
		rank := map[string]int{}
		for at, one := range elements(before, list) {
			rank[text(one, "name")] = at + 1
		}
		first, last := -len(m.injected), len(rank)+1
		for at, name := range m.injected {
			one := find(containers, "name", name)
			if one == nil {
				continue
			}
			rank[name] = last + at
			if list == initContainersKey && text(one, "restartPolicy") == string(corev1.ContainerRestartPolicyAlways) {
				rank[name] = first + at
			}
		}
		slices.SortStableFunc(containers, func(a, b map[string]any) int {
			return cmp.Compare(rank[text(a, "name")], rank[text(b, "name")])
		})
		put(spec, list, containers)
	}
}
