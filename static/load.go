package static

import "cmp"

// Sources is what a static configuration is read from.
// The environment overrides the file and flags override both, option by option.
type Sources struct {
	// ConfigFile is the file to read. A flag --configFile overrides it; when there is neither, the variable
	// SLUICE_CONFIGFILE counts, and then sluice.{toml,yaml,yml} and traefik.{toml,yaml,yml} in /etc/sluice,
	// /etc/traefik, $XDG_CONFIG_HOME, $HOME/.config and the working directory.
	ConfigFile string
	// Environ holds variables as NAME=value, as os.Environ returns them; those that begin with SLUICE_ are read.
	Environ []string
	// Args holds the command line flags without the name of the program. A flag may begin with one dash or two.
	Args []string
}

// Loaded is the result of a load.
type Loaded struct {
	// Configuration is complete with every default. It is never nil, and may be put to use only when no finding is an
	// error.
	Configuration *Configuration
	// File is the configuration file that was read; it is empty when there was none.
	File string

	root *setting
}

// Load reads the static configuration from all its sources and validates it. It reports everything that it finds, in
// the order of the sources and of the lines, and not the first mistake only. A setting that is wrong keeps its
// default. Load reads files and changes nothing.
func Load(sources Sources) (Loaded, []Finding) {
	r := &report{}
	root := &setting{option: newSchema()}
	environ := environment(sources.Environ)
	flags, file := parseFlags(sources.Args, root, r)
	file = cmp.Or(file, sources.ConfigFile, environ.value(environmentPrefix+"CONFIGFILE"))
	if file == "" {
		file = findFile(environ)
	}
	if file != "" {
		readFile(file, root, r)
	}
	return finish(root, file, environ, flags, r)
}

// finish merges the environment and the flags with what the file has left in root, and decodes the result.
func finish(root *setting, file string, environ environment, flags []argument, r *report) (Loaded, []Finding) {
	readEnvironment(environ, root, r)
	readFlags(flags, root, r)
	configuration := &Configuration{}
	configuration.SetDefaults()
	decode(root, configuration, r)
	complete(configuration)
	loaded := Loaded{Configuration: configuration, File: file, root: root}
	validate(loaded, r)
	return loaded, r.sorted()
}

// Locate returns an error about an option with the place where it was written. The path is taken apart, so that names
// may contain dots: Locate(reason, "entryPoints", "web", "address"); an element of a list is "[0]". When the option
// was not written, the place is that of the nearest section above it.
func (l Loaded) Locate(reason string, path ...string) Finding {
	root := l.root
	if root == nil {
		root = &setting{}
	}
	from, option := root.locate(path...)
	return Finding{Severity: Error, File: from.file, Line: from.line, Option: option, Reason: reason}
}
