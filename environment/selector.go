package environment

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/sluiceproxy/sluice/dynamic"
)

// Reason says why a subset was selected.
type Reason string

// The reasons.
const (
	// Exact is for the subset of the tag itself.
	Exact Reason = "exact"
	// Ancestor is for the subset of an ancestor of the tag.
	Ancestor Reason = "ancestor"
	// Default is for the subset of the default tag.
	Default Reason = "default"
	// Any is for the service with the endpoints of all environments.
	Any Reason = "any"
	// None is for a request that no subset may answer.
	None Reason = "none"
)

// NoSubset is the index of a Choice that is not a subset: Any or None.
const NoSubset = -1

// Choice is what answers a request.
type Choice struct {
	// Subset is the index in dynamic.Environment.Subsets, or NoSubset.
	Subset int
	Reason Reason
}

// Tag is the tag of a request.
type Tag struct {
	// Value is empty for a request without a tag.
	Value string
	// Aliased is set if the value is from an alias, so that the request does not have the header yet.
	Aliased bool
}

// Selector selects by the rules of one dynamic.Environment.
type Selector struct {
	header   string
	aliases  []*alias
	splitter byte
	// subsets are the indexes by tag, and longest is the length of the longest of these.
	subsets map[string]int
	longest int
	// lengths has the lengths of these tags: a part of another length needs no lookup.
	lengths [MaxTag + 1]bool
	// standard is the index of the default subset, or NoSubset.
	standard int
	fallback string
	// known are all tags that exist; nil unless strict.
	known map[string]struct{}
}

// New checks the options and returns the selector for them. Errors name the option, without the kind of the service.
func New(config *dynamic.Environment) (*Selector, error) {
	s := &Selector{
		header: http.CanonicalHeaderKey(config.Header), subsets: make(map[string]int, len(config.Subsets)),
		standard: NoSubset, fallback: config.Fallback,
	}
	if !httpguts.ValidHeaderFieldName(config.Header) {
		return nil, fmt.Errorf("header %q is not the name of a header", config.Header)
	}
	var err error
	if s.splitter, err = splitterOf(config.Splitter); err != nil {
		return nil, err
	}
	if err := s.index(config); err != nil {
		return nil, err
	}
	if config.Strict {
		s.known = make(map[string]struct{}, len(config.Tags)+len(config.Subsets))
		for _, tag := range config.Tags {
			s.known[tag] = struct{}{}
		}
		for i := range config.Subsets {
			s.known[config.Subsets[i].Tag] = struct{}{}
		}
	}
	for i := range config.Aliases {
		compiled, err := newAlias(&config.Aliases[i])
		if err != nil {
			return nil, fmt.Errorf("aliases[%d].%w", i, err)
		}
		s.aliases = append(s.aliases, compiled)
	}
	return s, enums(config)
}

// splitterOf returns the splitter, which is one visible character of ASCII other than a comma, since a list of header
// values is joined with commas.
func splitterOf(text string) (byte, error) {
	if len(text) != 1 || text[0] <= ' ' || text[0] > '~' || text[0] == ',' {
		return 0, fmt.Errorf("splitter %q is not one visible ASCII character other than a comma", text)
	}
	return text[0], nil
}

func (s *Selector) index(config *dynamic.Environment) error {
	for i := range config.Subsets {
		tag := config.Subsets[i].Tag
		if err := s.checkTag(tag); err != nil {
			return fmt.Errorf("subsets[%d].tag %w", i, err)
		}
		if first, twice := s.subsets[tag]; twice {
			return fmt.Errorf("subsets[%d].tag %q is that of subsets[%d] too", i, tag, first)
		}
		s.subsets[tag] = i
		s.longest = max(s.longest, len(tag))
		s.lengths[len(tag)] = true
	}
	if place, ok := s.subsets[config.Default]; ok {
		s.standard = place
	}
	return nil
}

// MaxTag is the maximum length of the tag of a subset in bytes. It is that of values of Kubernetes labels (63) and
// leaves room for other sources.
const MaxTag = 253

// checkTag refuses the tag of a subset that no request could have.
func (s *Selector) checkTag(tag string) error {
	switch {
	case tag == "":
		return errors.New("is empty")
	case len(tag) > MaxTag:
		return fmt.Errorf("has %d bytes, and %d are allowed", len(tag), MaxTag)
	case !httpguts.ValidHeaderFieldValue(tag) || strings.TrimSpace(tag) != tag || strings.Contains(tag, ","):
		return fmt.Errorf("%q cannot be the value of a header", tag)
	case tag[len(tag)-1] == s.splitter:
		return fmt.Errorf("%q ends with the splitter", tag)
	}
	return nil
}

// enums refuses values that do not exist, and those that miss another option.
func enums(config *dynamic.Environment) error {
	switch config.Fallback {
	case dynamic.FallbackDefault, dynamic.FallbackReject:
	case dynamic.FallbackAny:
		if config.Service == "" {
			return errors.New("service is empty, and the fallback any needs it")
		}
	default:
		return fmt.Errorf("fallback %q is none of default, any, reject", config.Fallback)
	}
	if config.Exists != dynamic.ExistsPods && config.Exists != dynamic.ExistsReady {
		return fmt.Errorf("exists %q is none of pods, ready", config.Exists)
	}
	return nil
}

// Header returns the name of the header with the tag, in canonical form.
func (s *Selector) Header() string { return s.header }

// Tag returns the tag of a request. The first value counts of a header that is given more than once. An empty value is
// no tag, and aliases do not replace it.
func (s *Selector) Tag(header http.Header) Tag {
	if values := header[s.header]; len(values) > 0 {
		return Tag{Value: values[0]}
	}
	for _, one := range s.aliases {
		if values := header[one.header]; len(values) > 0 {
			if tag := one.tag(values[0]); tag != "" {
				return Tag{Value: tag, Aliased: true}
			}
		}
	}
	return Tag{}
}

// Existence reports which subsets count.
type Existence interface {
	// Exists reports whether the subset of that index counts.
	Exists(subset int) bool
}

// Select returns what answers a tag; an empty one is that of a request without a tag.
func (s *Selector) Select(tag string, subsets Existence) Choice {
	if tag == "" {
		return s.otherwise(subsets)
	}
	if s.exists(tag) {
		if found := s.nearest(tag, subsets); found.Subset != NoSubset {
			return found
		}
	}
	if s.fallback == dynamic.FallbackReject {
		return Choice{Subset: NoSubset, Reason: None}
	}
	return s.otherwise(subsets)
}

// exists reports whether the ancestors of a tag may answer it.
func (s *Selector) exists(tag string) bool {
	if s.known == nil {
		return true
	}
	_, ok := s.known[tag]
	return ok
}

// nearest returns the subset of a tag, or of its nearest ancestor.
func (s *Selector) nearest(tag string, subsets Existence) Choice {
	reason := Exact
	if len(tag) > s.longest { // No subset has it, and its ancestors end within this part.
		tag, reason = up(tag[:s.longest+1], s.splitter), Ancestor
	}
	for tag != "" {
		if s.lengths[len(tag)] {
			if place, ok := s.subsets[tag]; ok && subsets.Exists(place) {
				return Choice{Subset: place, Reason: reason}
			}
		}
		tag, reason = up(tag, s.splitter), Ancestor
	}
	return Choice{Subset: NoSubset, Reason: None}
}

// up returns the next ancestor of a tag; empty if there is none.
func up(tag string, splitter byte) string {
	return tag[:max(strings.LastIndexByte(tag, splitter), 0)]
}

// otherwise returns what answers a request whose tag has no subset.
func (s *Selector) otherwise(subsets Existence) Choice {
	switch {
	case s.standard != NoSubset && subsets.Exists(s.standard):
		return Choice{Subset: s.standard, Reason: Default}
	case s.fallback == dynamic.FallbackAny:
		return Choice{Subset: NoSubset, Reason: Any}
	}
	return Choice{Subset: NoSubset, Reason: None}
}
