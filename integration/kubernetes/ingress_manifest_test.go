package kubernetes

import "strings"

// ingressOf is the manifest of an Ingress at namespace/name, with annotations and a spec as in a manifest.
func ingressOf(path, annotations, spec string) string {
	namespace, name, _ := strings.Cut(path, "/")
	return "---\napiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: " + name + ", namespace: " + namespace +
		", annotations: {" + annotations + "}}\nspec: " + spec + "\n"
}
