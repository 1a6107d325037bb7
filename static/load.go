package static

// Sources is what a static configuration is read from.
// Later fields override earlier ones, option by option.
type Sources struct {
	// ConfigFile is the file to read; when it is empty, and no flag --configFile names one, the usual places are searched.
	ConfigFile string
	// Environ holds variables as NAME=value, as os.Environ returns them; those that begin with SLUICE_ are read.
	Environ []string
	// Args holds the command line flags without the name of the program.
	Args []string
}

// Loaded is the result of a load.
type Loaded struct {
	// Configuration is complete with every default; it is never nil, and may be used only when no finding is an error.
	Configuration *Configuration
	// File is the configuration file that was read; it is empty when there was none.
	File string
}
