package crd

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// traefikService translates a TraefikService, and declares the load balancers of the Kubernetes Services that it
// refers to.
func (t *translator) traefikService(
	result *translation.Result, source translation.Source, object *v1alpha1.TraefikService,
) {
	name := objectName(source.Namespace, source.Name)
	spec := &object.Spec
	declared := &dynamic.Service{}
	if spec.Weighted != nil {
		declared.Weighted = t.weighted(result, name, source.Namespace, spec.Weighted)
	}
	if spec.Mirroring != nil {
		declared.Mirroring = t.mirroring(result, name, source.Namespace, spec.Mirroring)
	}
	if spec.HighestRandomWeight != nil {
		declared.HighestRandomWeight = &dynamic.HighestRandomWeight{
			Services: t.branches(result, name, source.Namespace, spec.HighestRandomWeight.Services),
		}
	}
	if spec.Failover != nil {
		declared.Failover = t.failover(result, name, source.Namespace, spec.Failover)
	}
	if spec.Environment != nil {
		declared.Environment = t.environment(result, name, source.Namespace, spec.Environment)
	}
	if spec.Canary != nil {
		declared.Canary = t.canary(result, name, source.Namespace, spec.Canary)
	}
	if spec.DirectResponse != nil {
		declared.DirectResponse = directResponse(spec.DirectResponse)
	}
	ref := dynamic.Ref{Kind: dynamic.KindService, Name: name}
	result.Put(ref, declared)
	switch kinds := declared.Kinds(); {
	case spec.Malformed != "":
		result.Quarantine(ref, dynamic.CodeInvalidSource, malformed(spec.Malformed), false)
	case len(kinds) == 0:
		result.Quarantine(ref, dynamic.CodeInvalidOption,
			"has no kind, and exactly one of weighted, mirroring, highestRandomWeight, failover, environment, canary "+
				"and directResponse is needed", false)
	case len(kinds) > 1:
		result.Quarantine(ref, dynamic.CodeInvalidOption,
			"has "+strconv.Itoa(len(kinds))+" kinds, "+strings.Join(kinds, " and ")+"; exactly one is allowed", false)
	}
}

// weighted translates a list of services with weights, for the service of that name.
func (t *translator) weighted(
	result *translation.Result, name, namespace string, spec *v1alpha1.WeightedRoundRobin,
) *dynamic.WeightedRoundRobin {
	return &dynamic.WeightedRoundRobin{
		Services: t.branches(result, name, namespace, spec.Services),
		Sticky:   stickyOf(spec.Sticky),
	}
}

// branches translates services with weights, for the service of that name.
func (t *translator) branches(
	result *translation.Result, name, namespace string, services []v1alpha1.Service,
) []dynamic.WeightedService {
	branches := make([]dynamic.WeightedService, 0, len(services))
	for i := range services {
		spec := &services[i].LoadBalancerSpec
		branches = append(branches, dynamic.WeightedService{
			Name: t.child(result, name, namespace, spec), Weight: weightOf(spec.Weight),
		})
	}
	return branches
}

// child returns the name of a service that the one of the name parent refers to. When the reference itself is wrong,
// that is the parent's fault.
func (t *translator) child(
	result *translation.Result, parent, namespace string, spec *v1alpha1.LoadBalancerSpec,
) string {
	name, problem := t.service(result, namespace, "", spec)
	if problem != nil {
		result.Quarantine(dynamic.Ref{Kind: dynamic.KindService, Name: parent}, problem.Code, problem.Reason, problem.Missing)
	}
	return name
}

// mirroring translates a service with mirrors.
func (t *translator) mirroring(
	result *translation.Result, name, namespace string, spec *v1alpha1.Mirroring,
) *dynamic.Mirroring {
	mirroring := &dynamic.Mirroring{}
	mirroring.SetDefaults()
	mirroring.Service = t.child(result, name, namespace, &spec.LoadBalancerSpec)
	if spec.MirrorBody != nil {
		mirroring.MirrorBody = copied(spec.MirrorBody)
	}
	if spec.MaxBodySize != nil {
		mirroring.MaxBodySize = copied(spec.MaxBodySize)
	}
	for i := range spec.Mirrors {
		mirror := &spec.Mirrors[i]
		mirroring.Mirrors = append(mirroring.Mirrors, dynamic.MirrorService{
			Name: t.child(result, name, namespace, &mirror.LoadBalancerSpec), Percent: mirror.Percent,
			Fraction: fraction(mirror.Fraction),
		})
	}
	return mirroring
}

// fraction translates the share of a mirror.
func fraction(spec *v1alpha1.Fraction) *dynamic.Fraction {
	if spec == nil {
		return nil
	}
	share := &dynamic.Fraction{}
	share.SetDefaults()
	share.Numerator = spec.Numerator
	if spec.Denominator != nil {
		share.Denominator = *spec.Denominator
	}
	return share
}

// failover translates a service with a fallback.
func (t *translator) failover(
	result *translation.Result, name, namespace string, spec *v1alpha1.Failover,
) *dynamic.Failover {
	failover := &dynamic.Failover{
		Service:  t.child(result, name, namespace, &spec.Service.LoadBalancerSpec),
		Fallback: t.child(result, name, namespace, &spec.Fallback.LoadBalancerSpec),
	}
	if spec.Errors != nil {
		failover.Errors = &dynamic.FailoverErrors{}
		failover.Errors.SetDefaults()
		failover.Errors.Status = slices.Clone(spec.Errors.Status)
		if spec.Errors.MaxRequestBodyBytes != nil {
			failover.Errors.MaxRequestBodyBytes = copied(spec.Errors.MaxRequestBodyBytes)
		}
	}
	return failover
}

// canary translates a service with a canary. Whether the options are valid is found out where they are applied.
func (t *translator) canary(
	result *translation.Result, name, namespace string, spec *v1alpha1.Canary,
) *dynamic.Canary {
	canary := &dynamic.Canary{}
	canary.SetDefaults()
	canary.Service = t.child(result, name, namespace, &spec.Service.LoadBalancerSpec)
	canary.Canary = t.child(result, name, namespace, &spec.Canary.LoadBalancerSpec)
	canary.Weight, canary.Header, canary.Cookie = spec.Weight, spec.Header, spec.Cookie
	canary.HeaderValue, canary.HeaderPattern = spec.HeaderValue, spec.HeaderPattern
	canary.Sticky, canary.StickyService = stickyOf(spec.Sticky), spec.StickyService
	if spec.WeightTotal != nil {
		canary.WeightTotal = *spec.WeightTotal
	}
	return canary
}

// directResponse translates a service that answers by itself. Whether it is valid is found out where it is applied.
func directResponse(spec *v1alpha1.DirectResponse) *dynamic.DirectResponse {
	response := &dynamic.DirectResponse{Status: spec.Status, Body: spec.Body, TrimTrailingSlash: spec.TrimTrailingSlash}
	for _, header := range spec.Headers {
		response.Headers = append(response.Headers, dynamic.HeaderValue{Name: header.Name, Value: header.Value})
	}
	return response
}

// environment translates a service of environments. Whether the options are valid is found out where they are applied.
func (t *translator) environment(
	result *translation.Result, name, namespace string, spec *v1alpha1.Environment,
) *dynamic.Environment {
	environment := &dynamic.Environment{}
	environment.SetDefaults()
	environment.Header = cmp.Or(spec.Header, environment.Header)
	environment.Splitter = cmp.Or(spec.Splitter, environment.Splitter)
	environment.Fallback = cmp.Or(spec.Fallback, environment.Fallback)
	environment.Exists = cmp.Or(spec.Exists, environment.Exists)
	environment.Default, environment.Strict, environment.Tags = spec.Default, spec.Strict, slices.Clone(spec.Tags)
	for _, one := range spec.Aliases {
		environment.Aliases = append(environment.Aliases, dynamic.EnvironmentAlias{
			Name: one.Name, Pattern: one.Pattern,
			Placeholder: cmp.Or(one.Placeholder, dynamic.DefaultEnvironmentPlaceholder),
		})
	}
	if spec.Service != nil {
		environment.Service = t.child(result, name, namespace, &spec.Service.LoadBalancerSpec)
	}
	for i := range spec.Subsets {
		one := &spec.Subsets[i]
		environment.Subsets = append(environment.Subsets, dynamic.EnvironmentSubset{
			Tag: one.Tag, Service: t.child(result, name, namespace, &one.Service.LoadBalancerSpec),
		})
	}
	return environment
}

// copied returns a pointer of its own to the same value, since objects of the cluster are not ours.
func copied[T any](value *T) *T {
	own := *value
	return &own
}
