package crd

import (
	"cmp"
	"maps"
	"strings"

	ptypes "github.com/traefik/paerser/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/backend"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
)

// reader reads options and keeps the first thing that is wrong with them.
type reader struct{ problem *backend.Problem }

func (r *reader) fail(reason string) {
	r.failWith(&backend.Problem{Code: dynamic.CodeInvalidOption, Reason: reason})
}

func (r *reader) failWith(problem *backend.Problem) {
	if r.problem == nil {
		r.problem = problem
	}
}

// duration reads a duration, or a number of seconds; nil leaves the default.
func (r *reader) duration(option string, given *intstr.IntOrString, into *ptypes.Duration) {
	if given == nil {
		return
	}
	var value ptypes.Duration
	if err := value.Set(given.String()); err != nil {
		r.fail(option + ": " + given.String() + " is no duration")
		return
	}
	*into = value
}

// healthCheck reads the active check of a server.
func (r *reader) healthCheck(spec *v1alpha1.ServerHealthCheck) *dynamic.ServerHealthCheck {
	if spec == nil {
		return nil
	}
	check := &dynamic.ServerHealthCheck{}
	check.SetDefaults()
	check.Scheme, check.Path, check.Method = spec.Scheme, spec.Path, spec.Method
	check.Status, check.Port, check.Hostname = spec.Status, spec.Port, spec.Hostname
	check.Headers = maps.Clone(spec.Headers)
	if spec.Mode != "" {
		check.Mode = spec.Mode
	}
	if spec.FollowRedirects != nil {
		follow := *spec.FollowRedirects
		check.FollowRedirects = &follow
	}
	r.duration("healthCheck.interval", spec.Interval, &check.Interval)
	unhealthy := check.Interval
	r.duration("healthCheck.unhealthyInterval", spec.UnhealthyInterval, &unhealthy)
	check.UnhealthyInterval = &unhealthy
	override(&check.Rise, spec.Rise)
	override(&check.Fall, spec.Fall)
	override(&check.Jitter, spec.Jitter)
	r.duration("healthCheck.timeout", spec.Timeout, &check.Timeout)
	return check
}

// passiveHealthCheck reads what takes an endpoint out after failures of real requests.
func (r *reader) passiveHealthCheck(spec *v1alpha1.PassiveServerHealthCheck) *dynamic.PassiveServerHealthCheck {
	if spec == nil {
		return nil
	}
	check := &dynamic.PassiveServerHealthCheck{}
	check.SetDefaults()
	r.duration("passiveHealthCheck.failureWindow", spec.FailureWindow, &check.FailureWindow)
	if spec.MaxFailedAttempts != nil {
		check.MaxFailedAttempts = *spec.MaxFailedAttempts
	}
	return check
}

// override replaces a default by what is given.
func override[T any](value **T, given *T) {
	if given != nil {
		*value = copied(given)
	}
}

// balancing reads the options that are spelled as in files.
func (r *reader) balancing(values *document.Decoder, spec *v1alpha1.Balancing, into *dynamic.ServersLoadBalancer) {
	if *spec == (v1alpha1.Balancing{}) {
		return
	}
	node, err := tree(spec)
	if err != nil {
		r.fail(err.Error())
		return
	}
	for _, problem := range values.Decode(node, into) {
		r.fail(problem.String())
	}
}

// stickyOf reads what keeps a client on one server.
func stickyOf(spec *v1alpha1.Sticky) *dynamic.Sticky {
	if spec == nil || spec.Cookie == nil {
		return nil
	}
	cookie := &dynamic.Cookie{}
	cookie.SetDefaults()
	cookie.Name, cookie.Secure, cookie.HTTPOnly = spec.Cookie.Name, spec.Cookie.Secure, spec.Cookie.HTTPOnly
	cookie.SameSite = strings.ToLower(spec.Cookie.SameSite)
	cookie.MaxAge, cookie.Domain = spec.Cookie.MaxAge, spec.Cookie.Domain
	cookie.Mode = cmp.Or(spec.Cookie.Mode, cookie.Mode)
	cookie.SecureByScheme, cookie.Partitioned = spec.Cookie.SecureByScheme, spec.Cookie.Partitioned
	cookie.ConditionalSameSiteNone, cookie.Expires = spec.Cookie.ConditionalSameSiteNone, spec.Cookie.Expires
	override(&cookie.ChangeOnFailure, spec.Cookie.ChangeOnFailure)
	cookie.ReadOnly = spec.Cookie.ReadOnly
	if spec.Cookie.Path != nil {
		path := *spec.Cookie.Path
		cookie.Path = &path
	}
	return &dynamic.Sticky{Cookie: cookie}
}
