package inject

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/sluiceproxy/sluice/provider/gotemplate"
)

const (
	// maxOutput is how much a template may render, in bytes.
	maxOutput = 1 << 20
	// maxWork is what a template may do for one pod, in units of gotemplate: about 200 ms.
	maxWork = 2_000_000
)

// templateData is the data of templates. The fields are those of Istio's injector, without those of a mesh.
type templateData struct {
	// TypeMeta and DeploymentMeta are the workload of the pod.
	TypeMeta       metav1.TypeMeta
	DeploymentMeta workloadName
	// ObjectMeta and Spec are the pod without earlier injections.
	ObjectMeta     *metav1.ObjectMeta
	Spec           *corev1.PodSpec
	Values         map[string]any
	Revision       string
	NativeSidecars bool
	Environment    []KeyValue
}

type workloadName struct{ Namespace, Name string }

// absentFields are those of Istio's data that there are none of here.
func absentFields() map[string]string {
	out := map[string]string{}
	for _, name := range []string{
		"CompliancePolicy", "InboundTrafficPolicyMode", "EstimatedConcurrency", "MeshConfig", "ProxyConfig", "ProxyGID",
		"ProxyImage", "ProxyInitImage", "ProxyUID",
	} {
		out[name] = "which Istio's mesh configuration has: use .Values here"
	}
	return out
}

// compiled is a template that can be run.
type compiled struct {
	*gotemplate.Template
	// changes is whether a function of the template may change the values.
	changes bool
	// ships is whether it is one of those that ship.
	ships bool
	texts parsedTexts
}

// changing matches the functions of sprig that change their first argument.
var changing = regexp.MustCompile(`\b(?:set|unset|merge|mergeOverwrite|mustMerge|mustMergeOverwrite)\b`)

// compileTemplate parses a template. Its error is a *gotemplate.Error.
func compileTemplate(text string) (*compiled, error) {
	template, err := gotemplate.ParseWith(text, gotemplate.Options{
		Functions: functions(),
		Refused:   refusedFunctions(),
		Data:      reflect.TypeFor[templateData](),
		Absent:    absentFields(),
		Work:      maxWork,
	})
	if err != nil {
		return nil, err
	}
	return &compiled{Template: template, changes: changing.MatchString(text), texts: newParsedTexts()}, nil
}

// fragment is what a template has rendered: a part of a pod.
type fragment struct {
	template string
	content  map[string]any
}

// render runs templates. A template that renders nothing has no fragment.
func (i *injection) render(names []string, native bool) ([]fragment, error) {
	i.pod.ManagedFields = nil
	owner := i.result.Owner
	data := templateData{
		TypeMeta:       metav1.TypeMeta{APIVersion: owner.APIVersion, Kind: owner.Kind},
		DeploymentMeta: workloadName{i.pod.Namespace, owner.Name},
		ObjectMeta:     &i.pod.ObjectMeta,
		Spec:           &i.pod.Spec,
		Revision:       i.config.revision,
		NativeSidecars: native,
		Environment:    i.input.Environment,
	}
	var out []fragment
	for _, name := range names {
		one := i.config.templates[name]
		data.Values = i.config.values
		if one.changes {
			data.Values = runtime.DeepCopyJSON(i.config.values)
		}
		rendered, err := one.Execute(context.Background(), data, maxOutput)
		if err != nil {
			if at, ok := errors.AsType[*gotemplate.Error](err); ok {
				return nil, fmt.Errorf("template %q: line %d: %s", name, at.Line, at.Reason)
			}
			return nil, fmt.Errorf("template %q: %w", name, err)
		}
		part, err := one.texts.parse(rendered)
		if err != nil {
			return nil, fmt.Errorf("template %q: what it renders: %w", name, err)
		}
		for _, warning := range part.warnings {
			i.warn("template %q: %s", name, warning)
		}
		if len(part.content) > 0 {
			out = append(out, fragment{name, part.content})
		}
	}
	return out, nil
}

// parseFragment reads what a template has rendered, and warns about fields that pods do not have.
func parseFragment(rendered []byte) (parsed, error) {
	encoded, err := yaml.YAMLToJSONStrict(rendered)
	if err != nil {
		return parsed{}, err
	}
	if string(encoded) == "null" {
		return parsed{}, nil
	}
	content, err := decodeObject(encoded)
	if err != nil {
		return parsed{}, errors.New("is not a part of a pod")
	}
	unknown, err := kjson.UnmarshalStrict(encoded, &corev1.Pod{})
	if err != nil {
		return parsed{}, err
	}
	var warnings []string
	for _, one := range unknown {
		warnings = append(warnings, one.Error())
	}
	withoutNulls(content)
	for key, value := range content {
		_, isMap := value.(map[string]any)
		switch {
		case key == "apiVersion" || key == "kind":
			delete(content, key)
		case isMap && len(value.(map[string]any)) == 0: // A heading without anything below.
			delete(content, key)
		case key != "metadata" && key != "spec":
			return parsed{}, fmt.Errorf("has the key %q beside metadata and spec", key)
		}
	}
	return parsed{content, warnings}, nil
}
