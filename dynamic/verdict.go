package dynamic

import (
	"strconv"
	"time"
)

// Origin is where an object was declared.
type Origin struct {
	// File and Line are set for files. Rendered means that Line counts in the output of a template.
	File     string
	Line     int
	Rendered bool
	// Object names the object in its source's own words (container web-1; IngressRoute shop/web).
	Object string
	// Resource identifies the object for reports at its source; nil for other sources. All objects declared by one
	// resource share one Resource, so that origins can be compared with ==.
	Resource *Resource
}

// Resource identifies one version of an object of an API that takes answers: a Kubernetes object. It is immutable.
type Resource struct {
	// APIVersion is the group and version, like traefik.io/v1alpha1.
	APIVersion string
	Kind       string
	Namespace  string
	Name       string
	// UID is different for every object that ever had the name.
	UID string
	// Generation counts the versions of the object's specification; what was declared comes from this one.
	Generation int64
}

// String returns FILE:LINE or the object's name.
func (o Origin) String() string {
	switch {
	case o.File != "" && o.Line > 0 && o.Rendered:
		return o.File + ":" + strconv.Itoa(o.Line) + " (rendered)"
	case o.File != "" && o.Line > 0:
		return o.File + ":" + strconv.Itoa(o.Line)
	case o.File != "":
		return o.File
	}
	return o.Object
}

// Status is the result for an object.
type Status uint8

// The statuses, from best to worst.
const (
	// Accepted objects are applied as declared.
	Accepted Status = iota
	// Degraded objects work, with an option that has no effect.
	Degraded
	// Retained objects have an invalid definition, which is not applied: their last valid one stays in use.
	Retained
	// Quarantined objects are not applied; routers that depend on one answer 503.
	Quarantined
)

// String returns the status as it is printed.
func (s Status) String() string {
	switch s {
	case Accepted:
		return "accepted"
	case Degraded:
		return "degraded"
	case Retained:
		return "retained"
	case Quarantined:
		return "quarantined"
	}
	return "unknown"
}

// Verdict is the result for one declared object.
type Verdict struct {
	Ref    Ref
	Origin Origin
	Status Status
	// Code is the machine-readable form of Reason; ReasonCode returns one where it is empty.
	Code Code
	// Reason is one clear sentence without the object's name; empty when accepted. It never holds a secret.
	Reason string
	// Missing is set if a reference cannot be resolved, which may be temporary: until the settle window is over, routers
	// keep their last state.
	Missing bool
	// Revokes is set by a provider if the last valid definition of the object must not stay in use, since the one that it
	// refuses protects more.
	Revokes bool
	// Cause is the object to which the fault belongs that a reference leads to, or the object that does not exist; for a
	// missing certificate, a router that needs it; for one of several objects that a provider makes of one declaration,
	// the first of them. It is the zero value for a fault of the object itself.
	Cause Ref
	// Since is when the first invalid definition came after the last valid one; zero unless Status is Retained.
	Since time.Time
}

// Distinct returns the verdicts, in their order, without those that repeat another one for display: those on objects
// whose Cause has a verdict of the same status for the same reason.
func Distinct(verdicts []Verdict) []Verdict {
	type said struct {
		of     Ref
		status Status
		reason string
	}
	all := map[said]bool{}
	for i := range verdicts {
		one := &verdicts[i]
		all[said{one.Ref, one.Status, one.Reason}] = true
	}
	distinct := make([]Verdict, 0, len(verdicts))
	for i := range verdicts {
		one := &verdicts[i]
		if one.Cause == (Ref{}) || one.Cause == one.Ref || !all[said{one.Cause, one.Status, one.Reason}] {
			distinct = append(distinct, *one)
		}
	}
	return distinct
}

// String returns the verdict as check prints it: FILE:LINE: KIND NAME@PROVIDER: REASON, or FILE:LINE: REASON for a
// file as a whole.
func (v Verdict) String() string {
	if v.Ref.Kind == KindSource && v.Origin.File != "" {
		return v.Origin.String() + ": " + v.Reason
	}
	text := string(v.Ref.Kind) + " " + v.Ref.Name + ": " + v.Reason
	if origin := v.Origin.String(); origin != "" {
		return origin + ": " + text
	}
	return text
}
