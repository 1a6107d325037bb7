package router

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/environment"
	"github.com/sluiceproxy/sluice/router/service"
)

// environments is the handler of an environment service with its definition.
type environments struct {
	*service.Environment
	declared *dynamic.Environment
}

// environment compiles a service that selects by the environment of a request.
func (c *Compiler) environment(node *serviceNode, config *dynamic.Environment) error {
	selector, err := environment.New(config)
	if err != nil {
		return fmt.Errorf("environment.%w", err)
	}
	if len(config.Subsets) == 0 && config.Fallback != dynamic.FallbackAny {
		return errors.New("environment.subsets is empty")
	}
	node.warnings = append(node.warnings, environmentWarnings(config)...)
	options := service.EnvironmentOptions{
		Name: node.name, Selector: selector, Ready: config.Exists == dynamic.ExistsReady,
	}
	for i, subset := range config.Subsets {
		option := fmt.Sprintf("environment.subsets[%d].service", i)
		if err := c.adopt(node, option, branch{name: subset.Service, role: roleSubset, tag: subset.Tag}); err != nil {
			return err
		}
		child := node.children[i].child()
		child.Name = subset.Tag
		options.Subsets = append(options.Subsets, child)
	}
	if config.Service != "" {
		if err := c.adopt(node, "environment.service", branch{name: config.Service, role: roleAny}); err != nil {
			return err
		}
		options.Any = node.children[len(node.children)-1].child()
	}
	node.environments = &environments{Environment: service.NewEnvironment(options), declared: config}
	node.selects = true
	node.serve(node.environments)
	return nil
}

// environmentWarnings returns what a configuration declares without effect.
func environmentWarnings(config *dynamic.Environment) []string {
	var warnings []string
	if config.Default != "" && !hasSubset(config, config.Default) && config.Fallback == dynamic.FallbackDefault {
		warnings = append(warnings, fmt.Sprintf("environment.default: no subset has the tag %q, so that requests without a "+
			"subset get 503", config.Default))
	}
	if len(config.Tags) > 0 && !config.Strict {
		warnings = append(warnings, "environment.tags has no effect without strict")
	}
	return warnings
}

func hasSubset(config *dynamic.Environment, tag string) bool {
	for i := range config.Subsets {
		if config.Subsets[i].Tag == tag {
			return true
		}
	}
	return false
}

// EnvironmentChoice is the choice of an environment service for a request.
type EnvironmentChoice struct {
	// Service is the qualified name of the environment service.
	Service string `json:"service"`
	// Header is the name of the header with the tag, and Tag the tag of the request; empty if it has none.
	Header string `json:"header"`
	Tag    string `json:"tag,omitempty"`
	// Subset is the tag of the subset that answers; empty if none does, or the service of all endpoints.
	Subset string `json:"subset,omitempty"`
	// Reason is exact, ancestor, default, any or none.
	Reason environment.Reason `json:"reason"`
}

// missing describes a choice without a subset.
func (e *EnvironmentChoice) missing() string {
	if e.Tag == "" {
		return fmt.Sprintf("service %s has no subset for requests without %s", e.Service, e.Header)
	}
	return fmt.Sprintf("service %s has no subset for the environment %q", e.Service, e.Tag)
}

// chooseEnvironments records the choices of environment services, and returns the service behind the last one; nil if
// it has no subset for the request.
func (n *serviceNode) chooseEnvironments(answer *Explanation, header http.Header) *ServiceStatus {
	for n.environments != nil {
		tag, choice := n.environments.Choose(header)
		if tag.Aliased { // The request has it in the header from here on.
			header = header.Clone()
			header.Set(n.environments.Header(), tag.Value)
		}
		made := EnvironmentChoice{
			Service: n.name, Header: n.environments.Header(), Tag: tag.Value, Reason: choice.Reason,
		}
		next := len(n.children) - 1 // That of all endpoints is the last one.
		if choice.Subset != environment.NoSubset {
			next = choice.Subset
			made.Subset = n.children[next].tag
		}
		answer.Environments = append(answer.Environments, made)
		if choice.Reason == environment.None {
			return nil
		}
		n = n.children[next].node
	}
	status := n.status()
	return &status
}
