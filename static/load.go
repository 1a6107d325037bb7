package static

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/sluiceproxy/sluice/document"
)

// Sources is what a static configuration is read from.
// The environment overrides the file and flags override both, option by option.
type Sources struct {
	// ConfigFile is the file to read. A flag --configFile overrides it; when there is neither, the variable
	// SLUICE_CONFIGFILE counts, then TRAEFIK_CONFIGFILE, and then sluice.{toml,yaml,yml} and traefik.{toml,yaml,yml} in
	// /etc/sluice, /etc/traefik, $XDG_CONFIG_HOME, $HOME/.config and the working directory.
	ConfigFile string
	// Environ holds variables as NAME=value, as os.Environ returns them; those that begin with SLUICE_ are read, and those
	// that begin with TRAEFIK_, which the former override.
	Environ []string
	// Args holds the command line flags without the name of the program. A flag may begin with one dash or two.
	Args []string
	// Alone leaves out the environment and the usual places of the file: what Args and ConfigFile name is all there is.
	Alone bool
}

// Loaded is the result of a load.
type Loaded struct {
	// Configuration is complete with every default. It is never nil, and may be put to use only when no finding is an
	// error.
	Configuration *Configuration
	// File is the configuration file that was read; it is empty when there was none.
	File string

	root *document.Node
}

// Load reads the static configuration from all its sources and validates it. It reports everything that it finds, in
// the order of the sources and of the lines, and not the first mistake only. A setting that is wrong keeps its
// default. Load reads files and changes nothing.
func Load(sources Sources) (Loaded, []Finding) {
	l := newLoader()
	environ := environment(sources.Environ)
	if sources.Alone {
		environ = nil
	}
	flags, file := l.parseFlags(sources.Args)
	l.File = cmp.Or(file, sources.ConfigFile, environ.configFile())
	if l.File == "" && !sources.Alone {
		l.File = findFile(environ)
	}
	if l.File != "" {
		l.readFile()
	}
	return l.finish(environ, flags)
}

// loader merges the sources into one document, of which every value says where it comes from, and decodes it once.
type loader struct {
	Loaded
	schema   *option
	findings []Finding
	// dynamic are the sections of the dynamic configuration that the file has.
	dynamic []document.Field
}

func newLoader() *loader {
	l := &loader{schema: newSchema()}
	l.Configuration = &Configuration{}
	l.Configuration.SetDefaults()
	return l
}

// finish merges the environment and the flags with what the file says, and decodes the result.
func (l *loader) finish(environ environment, flags []argument) (Loaded, []Finding) {
	l.readEnvironment(environ)
	l.readFlags(flags)
	if l.root != nil {
		l.classify(l.schema, &document.Field{Value: l.root}, "", Supported)
		decoder := document.Decoder{Sections: true, Unknown: l.unknownOption}
		for _, problem := range decoder.Decode(l.root, l.Configuration) {
			l.report(Error, problem.Source, problem.Line, problem.Path, problem.Reason)
		}
	}
	l.precedence()
	complete(l.Configuration)
	l.validate()
	l.dynamicSections()
	slices.SortStableFunc(l.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.Line, b.Line))
	})
	return l.Loaded, l.findings
}

// Locate returns an error about an option with the place where it was written. The path is taken apart, so that names
// may contain dots: Locate(reason, "entryPoints", "web", "address"); an element of a list is "[0]". When the option
// was not written, the place is that of the nearest section above it.
func (l Loaded) Locate(reason string, path ...string) Finding {
	at, _ := l.find(path)
	finding := Finding{Severity: Error, File: at.Value.Source, Line: at.Line, Reason: reason}
	if finding.File == "" && at.Line > 0 {
		finding.File = l.File
	}
	for _, name := range path {
		finding.Option = join(finding.Option, name)
	}
	return finding
}

// find returns the entry of a path, or the nearest one above it, and whether it was the path's own.
func (l Loaded) find(path []string) (at document.Field, found bool) {
	at.Value = cmp.Or(l.root, &document.Node{})
	for _, name := range path {
		if index, err := strconv.Atoi(strings.Trim(name, "[]")); err == nil && index < len(at.Value.Items) {
			at = document.Field{Line: at.Value.Items[index].Line, Value: at.Value.Items[index]}
		} else if next := at.Value.Get(name); next != nil {
			at = *next
		} else {
			return at, false
		}
	}
	return at, true
}

// join appends a name to the path of an option; an index is in brackets.
func join(path, name string) string {
	if path == "" || strings.HasPrefix(name, "[") {
		return path + name
	}
	return path + "." + name
}
