package static

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// dynamicSections warns about the sections of the dynamic configuration in the configuration file, unless the file
// provider reads them there.
func (l *loader) dynamicSections() {
	if len(l.dynamic) == 0 {
		return
	}
	reason := "belongs to the dynamic configuration, which is not read from this file; "
	switch provider := l.Configuration.Providers.File; {
	case provider == nil:
		reason += "write providers.file.filename: " + l.File
	case provider.Reads(l.File):
		return
	case provider.Filename != "":
		reason += fmt.Sprintf("move it to %s, which providers.file.filename names, or name this file there", provider.Filename)
	default:
		reason += fmt.Sprintf("move it to a file in %s, which providers.file.directory names", provider.Directory)
	}
	for _, section := range l.dynamic {
		l.report(Warning, "", section.Line, section.Key, reason)
	}
}

// Reads reports whether a file that exists is the one that the provider reads, or one of those in its directory.
func (f *FileProvider) Reads(path string) bool {
	file, err := os.Stat(path)
	if err != nil {
		return false
	}
	if f.Filename != "" {
		own, err := os.Stat(f.Filename)
		return err == nil && os.SameFile(own, file)
	}
	return contains(f.Directory, file)
}

// contains reports whether a file is one of the configuration files of a directory, or a link among them leads to it.
// What cannot be read is skipped, as the provider does.
func contains(directory string, file os.FileInfo) bool {
	entries, _ := os.ReadDir(directory)
	return slices.ContainsFunc(entries, func(entry fs.DirEntry) bool {
		path := filepath.Join(directory, entry.Name())
		if InternalFile(entry.Name()) {
			return false
		}
		if entry.IsDir() {
			return contains(path, file)
		}
		own, err := os.Stat(path)
		return err == nil && ConfigurationFile(path) && os.SameFile(own, file)
	})
}

// ConfigurationFile reports whether the name of a file in a directory is that of a configuration file.
func ConfigurationFile(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".toml"}, strings.ToLower(filepath.Ext(name)))
}

// InternalFile reports whether a name in a directory is an internal one of Kubernetes volumes (..data), where files
// appear a second time, or an Emacs lock.
func InternalFile(name string) bool {
	return strings.HasPrefix(name, "..") || strings.HasPrefix(name, ".#")
}
