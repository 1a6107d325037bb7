package inject

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"text/template"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// functions are available in templates beside those of sprig. All but hasEnv are those of Istio's injector; contains
// has the text first, as it has there.
func functions() template.FuncMap {
	return template.FuncMap{
		"annotation":          annotationOf,
		"applicationPorts":    applicationPorts,
		"contains":            strings.Contains,
		"directory":           func(file string) string { folder, _ := path.Split(file); return folder },
		"excludeInboundPort":  excludeInboundPort,
		"fromJSON":            fromJSON,
		"hasEnv":              hasEnv,
		"includeInboundPorts": applicationPorts,
		"isset":               func(values map[string]string, key string) bool { _, ok := values[key]; return ok },
		"keys":                sortedKeys,
		"mergeMaps":           mergeMaps,
		"omitNil":             omitNil,
		"strdict":             strdict,
		"structToJSON":        toJSON,
		"toJSON":              toJSON,
		"toJsonMap":           func(all ...map[string]string) (string, error) { return toJSON(mergeMaps(all...)) },
		"toLower":             strings.ToLower,
		"toYaml":              toYAML,
		"values":              sortedValues,
		"valueOrDefault":      valueOrDefault,
	}
}

// refusedFunctions are those of sprig and of Istio that are not available, with the reason. What a template renders
// depends on the pod and the configuration alone.
func refusedFunctions() map[string]string {
	out := map[string]string{}
	for reason, names := range map[string]string{
		"reads the environment of the injector; set a value instead": "env expandenv",
		"uses the network": "getHostByName",
		"depends on the time": "ago date dateInZone dateModify date_in_zone date_modify htmlDate htmlDateInZone " +
			"mustDateModify must_date_modify mustToDate now toDate",
		"depends on chance": "bcrypt buildCustomCert derivePassword encryptAES decryptAES genCA genCAWithKey genPrivateKey " +
			"genSelfSignedCert genSelfSignedCertWithKey genSignedCert genSignedCertWithKey htpasswd randAlpha " +
			"randAlphaNum randAscii randBytes randInt randNumeric shuffle uuidv4",
		"needs the configuration of a mesh, which there is none of here": "appendMultusNetwork excludeInterfaces " +
			"formatDuration kubevirtInterfaces otelResourceAttributes protoToJSON render",
	} {
		for name := range strings.FieldsSeq(names) {
			out[name] = reason
		}
	}
	return out
}

// annotationOf returns an annotation of a pod, or a default.
func annotationOf(metadata metav1.ObjectMeta, name string, otherwise any) string {
	if value, ok := metadata.Annotations[name]; ok {
		return value
	}
	return fmt.Sprint(otherwise)
}

// applicationPorts returns the TCP ports that containers declare, with commas.
func applicationPorts(containers []corev1.Container) string {
	var out []string
	for i := range containers {
		for _, port := range containers[i].Ports {
			if port.Protocol == "" || port.Protocol == corev1.ProtocolTCP {
				out = append(out, strconv.Itoa(int(port.ContainerPort)))
			}
		}
	}
	return strings.Join(out, ",")
}

// excludeInboundPort adds a port, unless it is 0, to a list of ports with commas.
func excludeInboundPort(port any, list string) string {
	added := strings.TrimSpace(fmt.Sprint(port))
	if added == "" || added == "0" {
		return list
	}
	var ports []string
	for one := range strings.SplitSeq(list, ",") {
		if one = strings.TrimSpace(one); one != "" {
			ports = append(ports, one)
		}
	}
	if !slices.Contains(ports, added) {
		ports = append(ports, added)
	}
	return strings.Join(ports, ",")
}

// hasEnv reports whether a container declares a variable.
func hasEnv(container corev1.Container, name string) bool {
	return slices.ContainsFunc(container.Env, func(one corev1.EnvVar) bool { return one.Name == name })
}

func fromJSON(text string) (any, error) {
	var out any
	err := json.Unmarshal([]byte(text), &out)
	return out, err
}

func toJSON(value any) (string, error) {
	out, err := json.Marshal(value)
	return string(out), err
}

func toYAML(value any) (string, error) {
	out, err := yaml.Marshal(value)
	return strings.TrimSuffix(string(out), "\n"), err
}

func mergeMaps(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, one := range all {
		maps.Copy(out, one)
	}
	return out
}

func omitNil(values map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range values {
		if value != nil {
			out[key] = value
		}
	}
	return out
}

// strdict returns a map of keys and values that take turns; a key at the end has the value "".
func strdict(all ...string) map[string]string {
	out := map[string]string{}
	for pair := range slices.Chunk(all, 2) {
		out[pair[0]] = ""
		if len(pair) > 1 {
			out[pair[0]] = pair[1]
		}
	}
	return out
}

// sortedKeys returns the keys of maps in order, where sprig's order depends on chance.
func sortedKeys(all ...map[string]any) []string {
	var out []string
	for _, one := range all {
		out = append(out, slices.Sorted(maps.Keys(one))...)
	}
	return out
}

// sortedValues returns the values of a map in the order of its keys.
func sortedValues(all map[string]any) []any {
	out := make([]any, 0, len(all))
	for _, key := range slices.Sorted(maps.Keys(all)) {
		out = append(out, all[key])
	}
	return out
}

// valueOrDefault returns a default for nil and "".
func valueOrDefault(value, otherwise any) any {
	if value == nil || value == "" {
		return otherwise
	}
	return value
}
