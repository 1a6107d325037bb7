package annotation

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// MostValue is the length in bytes of the longest value that is read. Longer ones are refused unread.
const MostValue = 16 << 10

// Reader reads the annotations of Ingresses under one version of the ConfigMap. It may be used by several goroutines.
type Reader struct {
	index    *index
	settings *Settings
}

// NewReader returns a reader. The settings are not changed.
func NewReader(settings *Settings) *Reader { return &Reader{newIndex(), settings} }

// Read reads the annotations of an Ingress in a namespace. There is one finding for each key that begins with Prefix,
// in the order of keys.
func (r *Reader) Read(namespace string, annotations map[string]string) (*Options, []Finding) {
	read := &reading{
		index: r.index, settings: r.settings, namespace: namespace,
		values: map[string]string{}, findings: map[string]*Finding{}, long: map[string]bool{},
		options: &Options{Closed: r.settings.Closed},
	}
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if name, ours := strings.CutPrefix(key, Prefix); ours {
			read.take(name, annotations[key])
		}
	}
	read.groups()
	return read.options, read.finish()
}

// groups reads one topic after the other.
func (r *reading) groups() {
	r.rewrite()
	r.redirect()
	r.access()
	r.auth()
	r.authRequest()
	r.clientTLS()
	r.limit()
	r.cors()
	r.canary()
	r.affinity()
	r.backend()
	r.proxy()
	r.proxyTLS()
	r.errors()
	r.mirror()
	r.clientConnections()
	r.log()
	r.firewall()
	r.snippets()
}

// state says what an annotation holds.
type state int

const (
	// absent is not set.
	absent state = iota
	// blank is set to nothing.
	blank
	// wrong is set to a value that ingress-nginx refuses.
	wrong
	// valid is set to a value that it accepts.
	valid
)

// reading is the reading of one Ingress. Names are keys without Prefix.
type reading struct {
	index     *index
	settings  *Settings
	namespace string
	values    map[string]string
	// long holds the names of which the value was too long to be read.
	long     map[string]bool
	findings map[string]*Finding
	options  *Options
	// suggestions counts the unknown names for which a similar one was looked for.
	suggestions int
}

// mostSuggestions bounds them, since each is compared with all names.
const mostSuggestions = 16

// take notes one annotation.
func (r *reading) take(name, value string) {
	spec, known := r.spec(name)
	if len(value) > MostValue {
		r.long[name] = true
		reason := "the value has " + strconv.Itoa(len(value)) + " bytes; more than " + strconv.Itoa(MostValue) +
			" are not read"
		switch {
		case !known:
			r.set(name, Ignored, reason)
		case spec.Protects || spec.Risk == Critical:
			r.close(name, reason)
		default:
			r.set(name, Unsupported, reason)
		}
		return
	}
	r.values[name] = value
	for _, word := range r.settings.Blocklist {
		if strings.Contains(value, word) {
			r.reject(name, "the value contains "+quote(word)+", which annotation-value-word-blocklist forbids")
		}
	}
}

// spec returns the annotation of a name or alias.
func (r *reading) spec(name string) (*Spec, bool) {
	if primary, alias := r.index.primary[name]; alias {
		name = primary
	}
	spec, known := r.index.specs[name]
	return spec, known
}

// key returns the name under which an annotation is set: its own, unless that is empty and an alias is not.
func (r *reading) key(name string) string {
	if r.values[name] == "" {
		for _, alias := range r.index.specs[name].Aliases {
			if r.values[alias] != "" {
				return alias
			}
		}
	}
	return name
}

// raw returns the value of an annotation, and notes that it is read.
func (r *reading) raw(name string) (string, bool) {
	key := r.key(name)
	value, given := r.values[key]
	if !given {
		return "", false
	}
	spec := r.index.specs[name]
	for _, other := range append([]string{name}, spec.Aliases...) {
		if _, set := r.values[other]; set && other != key {
			r.set(other, Unused, "ingress-nginx reads "+key+", another name of the same annotation")
		}
	}
	switch spec.Support {
	case Same:
		r.set(key, Honoured, "")
	case Differs:
		r.set(key, Different, spec.Note)
	case Refused:
		r.set(key, Unsupported, spec.Note+replacement(spec.Replacement))
	case NoEffect:
		r.set(key, Unused, spec.Note)
	}
	return value, true
}

func replacement(text string) string {
	if text == "" {
		return ""
	}
	return "; use " + text
}

// text reads an annotation that holds a text; ok reports whether ingress-nginx accepts it. Lines are trimmed.
func (r *reading) text(name string, ok func(string) bool) (string, state) {
	value, given := r.raw(name)
	switch {
	case !given:
		return "", absent
	case value != "" && !ok(value):
		r.useless(name, value)
		return "", wrong
	}
	lines := strings.Split(value, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	text := strings.Join(lines, "\n")
	if strings.TrimSpace(text) == "" {
		r.unused(r.key(name), "the value is empty")
		return "", blank
	}
	return text, valid
}

// flag reads an annotation that is true or false.
func (r *reading) flag(name string) (bool, state) {
	value, given := r.raw(name)
	if !given {
		return false, absent
	}
	if value == "" {
		r.unused(name, "the value is empty")
		return false, blank
	}
	parsed, err := strconv.ParseBool(value)
	if err != nil {
		r.useless(name, value)
		return false, wrong
	}
	return parsed, valid
}

// flagOr reads an annotation that is true or false, with a default for anything else.
func (r *reading) flagOr(name string, otherwise bool) bool {
	if value, state := r.flag(name); state == valid {
		return value
	}
	return otherwise
}

// mostNumber bounds numbers to what ingress-nginx can pass on to nginx and Lua, and their products to int64.
const mostNumber = 1<<31 - 1

// number reads an annotation that is a whole number.
func (r *reading) number(name string) (int, state) {
	value, given := r.raw(name)
	if !given {
		return 0, absent
	}
	if value == "" {
		r.unused(name, "the value is empty")
		return 0, blank
	}
	parsed, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		r.useless(name, value)
		return 0, wrong
	}
	return int(max(-mostNumber, min(parsed, mostNumber))), valid
}

// numberOr reads a whole number, with a default for anything else. A negative one makes nginx refuse its
// configuration.
func (r *reading) numberOr(name string, otherwise int) int {
	value, state := r.number(name)
	switch {
	case state != valid:
		return otherwise
	case value < 0:
		r.reject(name, "nginx accepts no negative number")
		return otherwise
	}
	return value
}

// reference reads the name of an object: NAMESPACE/NAME, or NAME where that is allowed. It returns why ingress-nginx
// does not accept it.
func (r *reading) reference(text string, bare bool) (*Reference, string) {
	namespace, name, divided := strings.Cut(text, "/")
	if !divided {
		namespace, name = "", text
	}
	switch {
	case strings.Contains(name, "/") || name == "" || !divided && !bare || divided && namespace == "" && !bare:
		return nil, quote(text) + " is not of the form NAMESPACE/NAME"
	case namespace == "":
		namespace = r.namespace
	case namespace != r.namespace && !r.settings.AllowCrossNamespace:
		return nil, quote(text) + " is in another namespace, which allow-cross-namespace-resources does not permit"
	}
	return &Reference{namespace, name}, ""
}

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
