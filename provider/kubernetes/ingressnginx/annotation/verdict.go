package annotation

import (
	"maps"
	"slices"
)

// set notes a verdict, unless there is a worse one.
func (r *reading) set(name string, verdict Verdict, reason string) {
	found := r.findings[name]
	if found == nil {
		found = &Finding{Key: cut(Prefix+name, mostKey)}
		if spec, known := r.spec(name); known {
			found.Protects, found.AboveRisk = spec.Protects, spec.Risk > r.settings.Risk
		}
		r.findings[name] = found
	} else if found.Verdict > verdict {
		return
	}
	found.Verdict, found.Reason = verdict, cut(reason, mostReason)
}

// unused notes that an annotation has no effect as it is set, also where Sluice does not do what it could.
func (r *reading) unused(name, reason string) { r.weaken(name, Unused, reason) }

// useless notes that a value is not accepted, so that the annotation counts as absent.
func (r *reading) useless(name, value string) {
	r.weaken(r.key(name), Ignored, quote(value)+" is not accepted by ingress-nginx, which ignores it")
}

// weaken notes a verdict that is less than Unsupported on an annotation, also where Sluice does not do what it could.
func (r *reading) weaken(name string, verdict Verdict, reason string) {
	if found := r.findings[name]; found != nil && found.Verdict == Unsupported && !r.long[name] {
		found.Verdict = verdict
	}
	r.set(name, verdict, reason)
}

// deny notes that an annotation makes the locations answer 503, as in ingress-nginx.
func (r *reading) deny(name, reason string) {
	r.set(r.nameOf(name), Denied, reason)
	r.because(&r.options.Denied, name, reason)
}

// close notes that an annotation makes the locations answer 503, although ingress-nginx serves them.
func (r *reading) close(name, reason string) {
	r.set(r.nameOf(name), Denied, reason)
	r.because(&r.options.Closed, name, reason)
}

// because notes a reason, unless there is one.
func (r *reading) because(into *string, name, reason string) {
	if *into == "" {
		*into = cut(Prefix+r.nameOf(name)+": "+reason, mostReason)
	}
}

// why returns the reason of the verdict on an annotation.
func (r *reading) why(name string) string {
	key := r.nameOf(name)
	return cut(Prefix+key+": "+r.findings[key].Reason, mostReason)
}

// reject notes that ingress-nginx does not accept the Ingress.
func (r *reading) reject(name, reason string) {
	r.set(r.nameOf(name), Rejected, reason)
	r.because(&r.options.Rejected, name, reason)
}

// nameOf returns the name under which a known annotation is set.
func (r *reading) nameOf(name string) string {
	if r.index.specs[name] == nil {
		return name
	}
	return r.key(name)
}

// refuse notes that ingress-nginx does not accept the Ingress for the value of an annotation.
func (r *reading) refuse(name string) {
	value := r.values[r.key(name)]
	r.reject(name, quote(value)+" is not accepted by ingress-nginx, nor is the Ingress that holds it")
}

// idle notes that annotations have no effect unless something else is set.
func (r *reading) idle(without string, names ...string) {
	for _, name := range names {
		for _, key := range append([]string{name}, r.index.specs[name].Aliases...) {
			if _, given := r.values[key]; given {
				r.unused(key, "it has no effect without "+without)
			}
		}
	}
}

// finish judges what no group has read, and returns all findings.
func (r *reading) finish() []Finding {
	for _, name := range slices.Sorted(maps.Keys(r.values)) {
		if r.findings[name] != nil {
			continue
		}
		if _, known := r.spec(name); known {
			r.set(name, Unused, "it has no effect together with the other annotations")
			continue
		}
		if instead, retired := r.index.retired[name]; retired {
			r.set(name, Unused, "ingress-nginx 1.15 does not read it"+replacement(instead))
			continue
		}
		r.set(name, Ignored, r.unknown(name))
	}
	r.risks()
	findings := make([]Finding, 0, len(r.findings))
	for _, name := range slices.Sorted(maps.Keys(r.findings)) {
		findings = append(findings, *r.findings[name])
	}
	return findings
}

// risks judges annotations above annotations-risk-level, for which ingress-nginx does not accept the Ingress. What
// protects closes the locations. What makes more reachable, or sends requests elsewhere, is left out, and anything else
// has its effect.
func (r *reading) risks() {
	for _, name := range slices.Sorted(maps.Keys(r.findings)) {
		found := r.findings[name]
		if !found.AboveRisk || found.Verdict >= Unused { // It has no effect, or a verdict that is worse.
			continue
		}
		spec, _ := r.spec(name)
		reason := "its risk is " + spec.Risk.String() + ", above annotations-risk-level " + r.settings.Risk.String() +
			", so that ingress-nginx does not accept the Ingress"
		switch {
		case spec.Protects:
			r.deny(name, reason)
		case spec.Name == "server-alias":
			r.options.Aliases = nil
			r.set(name, Unsupported, reason+"; the annotation is left out")
		case spec.Name == "mirror-target":
			r.options.Mirror = nil
			r.set(name, Unsupported, reason+"; the annotation is left out")
		default:
			r.set(name, Different, reason+"; the annotation has its effect all the same")
		}
	}
}

// unknown says why a name that is no annotation has no effect.
func (r *reading) unknown(name string) string {
	if slices.Contains(r.index.configKeys, name) {
		return "it is a key of the ConfigMap, which has no effect as an annotation"
	}
	if r.suggestions++; r.suggestions > mostSuggestions {
		return "unknown annotation"
	}
	if near, found := r.index.nearest(name); found {
		return "unknown annotation, did you mean " + Prefix + near + "?"
	}
	return "unknown annotation"
}
