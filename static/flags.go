package static

import (
	"strings"

	"github.com/sluiceproxy/sluice/document"
)

// flagSource precedes the name of a flag where it is the source of a value.
const flagSource = "flag "

// argument is one flag of the command line with its value.
type argument struct {
	name  string
	value string
}

// readFlags merges flags into the document; one that means nothing is an error.
func (l *loader) readFlags(flags []argument) {
	names := flagNaming()
	for _, f := range flags {
		source := flagSource + "--" + f.name
		unknown := l.set(names, f.name, f.value, source)
		if unknown == nil {
			continue
		}
		l.report(Error, source, 0, "", names.reason(l.schema, unknown, "is unknown"))
	}
}

// parseFlags takes the command line apart: --name=value, --name value, and --name alone for what is true or false.
// It returns the configuration file apart from the options.
func (l *loader) parseFlags(args []string) (flags []argument, configFile string) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		name, ok := strings.CutPrefix(arg, "-")
		name = strings.TrimPrefix(name, "-")
		name, value, given := strings.Cut(name, "=")
		if !ok || name == "" {
			l.report(Error, flagSource+arg, 0, "", "expected a flag such as --name=value")
			continue
		}
		if !given && !l.alone(name) {
			if len(args) == 0 || strings.HasPrefix(args[0], "--") {
				l.report(Error, flagSource+"--"+name, 0, "", "needs a value")
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
func (l *loader) alone(name string) bool {
	alone := !strings.EqualFold(name, configFileOption)
	names := flagNaming()
	names.put(l.schema, nil, names.words(name), func(o *option, _ *document.Node) *document.Node {
		alone = o.shape != scalars && (o.shape != scalar || o.Type == "bool")
		return &document.Node{}
	})
	return alone
}
