package static

import "path/filepath"

// SearchFolders returns the folders in which the configuration file is searched when none is named, in their order;
// environ holds variables as NAME=value.
func SearchFolders(environ []string) []string {
	variables := environment(environ)
	folders := []string{"/etc/sluice", "/etc/traefik"}
	if config := variables.value("XDG_CONFIG_HOME"); config != "" {
		folders = append(folders, config)
	}
	if home := variables.value("HOME"); home != "" {
		folders = append(folders, filepath.Join(home, ".config"))
	}
	return append(folders, ".")
}

// Empty reports whether there was no configuration file, and no variable and no flag that is an option.
func (l Loaded) Empty() bool { return l.File == "" && l.root == nil }
