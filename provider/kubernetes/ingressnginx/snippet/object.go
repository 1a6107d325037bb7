package snippet

import (
	"encoding/json"

	"sigs.k8s.io/yaml"
)

// YAML returns the spec of the Middleware object in YAML; empty without a middleware.
func (p *Proposal) YAML() string {
	if p.Middleware == nil {
		return ""
	}
	return encode(p.Middleware)
}

// Object returns the Middleware object in YAML; empty without a middleware. Its group is sluice.dev, since the
// definition of traefik.io lacks some kinds.
func (p *Proposal) Object(namespace, name string) string {
	if p.Middleware == nil {
		return ""
	}
	return encode(map[string]any{
		"apiVersion": "sluice.dev/v1alpha1", "kind": "Middleware",
		"metadata": map[string]string{"namespace": namespace, "name": name}, "spec": p.Middleware,
	})
}

func encode(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // There are texts, numbers and truth values alone.
	}
	out, err := yaml.JSONToYAML(text)
	if err != nil {
		panic(err)
	}
	return string(out)
}
