package virtualenvironment

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/environment"
)

// DefaultLabel is the key of the label of pods whose VirtualEnvironment names none.
const DefaultLabel = "virtual-env"

// Policy says how the Services of a namespace are divided. It is immutable.
type Policy struct {
	// Label is the key of the label with the tag of a pod.
	Label string
	// Environment holds the options of the environment services, without subsets and without the service of all
	// endpoints. It must not be changed.
	Environment *dynamic.Environment
}

// policyOf returns the policy of a specification, and what of it is not applied. It fails where nothing can be applied.
func policyOf(spec *Spec) (policy *Policy, ignored []string, err error) {
	options := &dynamic.Environment{}
	options.SetDefaults()
	options.Header = cmp.Or(spec.EnvHeader.Name, options.Header)
	options.Splitter = cmp.Or(spec.EnvLabel.Splitter, options.Splitter)
	options.Default = spec.EnvLabel.DefaultSubset
	options.Exists = cmp.Or(spec.Exists, options.Exists)
	options.Strict = spec.Strict
	if options.Fallback = spec.Fallback; options.Fallback == "" {
		options.Fallback = dynamic.FallbackDefault
		if options.Default == "" {
			options.Fallback = dynamic.FallbackAny
		}
	}
	policy = &Policy{Label: cmp.Or(spec.EnvLabel.Name, DefaultLabel), Environment: options}
	if problems := validation.IsQualifiedName(policy.Label); len(problems) > 0 {
		return nil, nil, fmt.Errorf("spec.envLabel.name %q is not the key of a label: %s", policy.Label, problems[0])
	}
	if err := check(options); err != nil {
		return nil, nil, fmt.Errorf("spec: %w", err)
	}
	for i, alias := range spec.EnvHeader.Aliases {
		one := dynamic.EnvironmentAlias{Name: alias.Name, Pattern: alias.Pattern}
		one.Placeholder = cmp.Or(alias.Placeholder, dynamic.DefaultEnvironmentPlaceholder)
		alone := *options
		alone.Aliases = []dynamic.EnvironmentAlias{one}
		if err := check(&alone); err != nil {
			reason := strings.TrimPrefix(err.Error(), "aliases[0].")
			ignored = append(ignored, fmt.Sprintf("spec.envHeader.aliases[%d] is left out: %s", i, reason))
			continue
		}
		options.Aliases = append(options.Aliases, one)
	}
	return policy, ignored, nil
}

// check reports what is wrong with options that have no subsets yet.
func check(options *dynamic.Environment) error {
	probe := *options
	probe.Service = "all" // It is known only for each Service.
	_, err := environment.New(&probe)
	return err
}
