package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// listing is what there is to read.
type listing struct {
	// files are in the order of their paths.
	files []string
	// directories are those that files were looked for in, without symbolic links.
	directories []string
	// failures are directories, or the one file, that cannot be looked at.
	failures []failure
}

type failure struct {
	path string
	err  error
}

// list finds the files of the configuration.
func (p *Provider) list() listing {
	var out listing
	if p.config.Filename != "" {
		out.files = []string{filepath.Clean(p.config.Filename)}
		return out
	}
	out.walk(filepath.Clean(p.config.Directory), map[string]bool{})
	slices.Sort(out.files)
	return out
}

// walk adds the files of a directory and of what is below it. A directory that is reached by several links counts once.
func (l *listing) walk(directory string, visited map[string]bool) {
	real, err := realPath(directory)
	if err != nil {
		l.failures = append(l.failures, failure{directory, err})
		return
	}
	if visited[real] {
		return
	}
	visited[real] = true
	l.directories = append(l.directories, real)
	entries, err := os.ReadDir(directory)
	if err != nil {
		l.failures = append(l.failures, failure{directory, err})
	}
	for _, entry := range entries {
		if ignored(entry.Name()) {
			continue
		}
		path := filepath.Join(directory, entry.Name())
		switch {
		case isDirectory(entry, path):
			l.walk(path, visited)
		case isConfiguration(path):
			l.files = append(l.files, path)
		}
	}
}

// ignored knows the names of Kubernetes' volumes behind whose links the files appear a second time (..data), and of
// Emacs' locks.
func ignored(name string) bool { return strings.HasPrefix(name, "..") || strings.HasPrefix(name, ".#") }

func isDirectory(entry fs.DirEntry, path string) bool {
	if entry.Type()&fs.ModeSymlink == 0 {
		return entry.IsDir()
	}
	target, err := os.Stat(path)
	return err == nil && target.IsDir()
}

func isConfiguration(path string) bool {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".yaml", ".yml", ".toml":
		return true
	}
	return false
}

// realPath returns the absolute path without symbolic links.
func realPath(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	return filepath.Abs(real)
}

// below reports whether a path is a directory or lies in it.
func below(path, directory string) bool {
	relative, err := filepath.Rel(directory, path)
	return err == nil && relative != ".." && !strings.HasPrefix(relative, ".."+string(filepath.Separator))
}

// reason returns what an error of the operating system says, without the path that is named anyway.
func reason(err error) string {
	if inner, ok := errors.AsType[*fs.PathError](err); ok {
		err = inner.Err
	}
	return err.Error()
}
