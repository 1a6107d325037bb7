package static

import (
	"reflect"
	"strings"
)

// argument is one flag of the command line with its value.
type argument struct {
	name  string
	value string
}

// readFlags merges flags into root; a list that is given several times is joined.
func readFlags(flags []argument, root *setting, r *report) {
	names := flagResolver()
	seen := map[*setting]string{}
	for _, f := range flags {
		from := origin{file: "flag --" + f.name, rank: rankFlag}
		steps, unknown := names.resolve(root.option, root, names.words(f.name))
		if unknown != nil {
			reportUnknownFlag(r, from, names, unknown)
			continue
		}
		s := open(root, steps, from)
		value := f.value
		if earlier, ok := seen[s]; ok && s.option.shape == scalars {
			value = earlier + "," + value
		}
		seen[s] = value
		write(s, value, from, r)
	}
}

// reportUnknownFlag reports a flag that is no option.
func reportUnknownFlag(r *report, from origin, names resolver, unknown *unknownOption) {
	words := unknown.words
	if unknown.word != "" {
		words = append(words[:len(words):len(words)], unknown.word)
	}
	if text := removed(strings.Join(words, ".")); text != "" {
		r.fail(from, "", "%s", text)
		return
	}
	reason := "is unknown"
	if near := unknown.spelled(names); near != "" {
		reason += "; did you mean --" + near + "?"
	}
	r.fail(from, "", "%s", reason)
}

// parseFlags takes the command line apart: --name=value, --name value, and --name alone for what is true or false.
// It returns the configuration file apart from the options.
func parseFlags(args []string, root *setting, r *report) (flags []argument, configFile string) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		name, ok := strings.CutPrefix(arg, "-")
		name = strings.TrimPrefix(name, "-")
		name, value, given := strings.Cut(name, "=")
		if !ok || name == "" {
			r.fail(origin{file: "flag " + arg}, "", "expected a flag such as --name=value")
			continue
		}
		if !given && !alone(root, name) {
			if len(args) == 0 || strings.HasPrefix(args[0], "--") {
				r.fail(origin{file: "flag --" + name}, "", "needs a value")
				continue
			}
			value, args = args[0], args[1:]
		} else if !given {
			value = "true"
		}
		if strings.EqualFold(name, configFileOption) {
			configFile = value
			continue
		}
		flags = append(flags, argument{name: name, value: value})
	}
	return flags, configFile
}

// alone reports whether a flag stands for itself without a value: it is a section or a bool, or means nothing.
func alone(root *setting, name string) bool {
	if strings.EqualFold(name, configFileOption) {
		return false
	}
	names := flagResolver()
	steps, unknown := names.resolve(root.option, root, names.words(name))
	if unknown != nil {
		return true
	}
	last := steps[len(steps)-1].option
	return last.shape != scalars && (last.shape != scalar || last.typ.Kind() == reflect.Bool)
}
