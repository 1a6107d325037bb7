package static

import (
	"strings"

	"github.com/sluiceproxy/sluice/document"
)

// write gives a setting its value from the environment or from a flag.
func write(s *setting, text string, from origin, r *report) {
	switch s.option.shape {
	case scalar:
		s.set(from, []item{{text: text}})
	case scalars:
		s.set(from, split(text, 0))
	case section:
		writeSwitch(s, text, from, r)
	case free:
		s.set(from, nil)
	case named:
		r.fail(from, s.path, "needs a name below it, as in %s.NAME", s.path)
	case listed:
		r.fail(from, s.path, "needs an index below it, as in %s[0]", s.path)
	}
}

// writeSwitch switches a section on or off as a whole.
func writeSwitch(s *setting, text string, from origin, r *report) {
	on := text == "" || strings.EqualFold(text, "true")
	switch {
	case !s.option.optional:
		r.fail(from, s.path, "expected %s, got %q", s.option.expected(), text)
	case on:
		s.set(from, nil)
	case strings.EqualFold(text, "false"):
		s.remove(from)
	default:
		r.fail(from, s.path, "expected %s, or true or false for the whole section, got %q", s.option.expected(), text)
	}
}

// reportUnknown reports a name that is no option of the section s.
func reportUnknown(r *report, from origin, s *setting, name string) {
	path := strings.TrimPrefix(s.path+"."+name, ".")
	if text := removed(path); text != "" {
		r.fail(from, path, "%s", text)
		return
	}
	r.fail(from, strings.TrimPrefix(s.path+"."+document.ShowKey(name), "."), "is unknown%s", didYouMean(name, s.option.names()))
}

// didYouMean names the nearest known name, if one is near.
func didYouMean(name string, known []string) string {
	if near, ok := document.Nearest(name, known); ok {
		return "; did you mean " + near + "?"
	}
	return ""
}
