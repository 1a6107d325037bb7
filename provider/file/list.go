package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluiceproxy/sluice/static"
)

// listing is the result of searching for files.
type listing struct {
	// files are sorted by path.
	files []string
	// directories are the searched ones, without symbolic links.
	directories []string
	// failures are directories, or the one file, that cannot be read.
	failures []failure
}

type failure struct {
	path string
	err  error
}

// list finds the files of the configuration.
func (p *Provider) list() listing {
	var out listing
	if p.only != nil {
		out.files = slices.Compact(slices.Sorted(slices.Values(p.only)))
		return out
	}
	if p.config.Filename != "" {
		out.files = []string{filepath.Clean(p.config.Filename)}
		return out
	}
	out.walk(filepath.Clean(p.config.Directory), map[string]bool{})
	slices.Sort(out.files)
	return out
}

// walk adds the files below a directory. A directory with several links to it is visited once.
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
		if static.InternalFile(entry.Name()) {
			continue
		}
		path := filepath.Join(directory, entry.Name())
		switch {
		case isDirectory(entry, path):
			l.walk(path, visited)
		case static.ConfigurationFile(path):
			l.files = append(l.files, path)
		}
	}
}

func isDirectory(entry fs.DirEntry, path string) bool {
	if entry.Type()&fs.ModeSymlink == 0 {
		return entry.IsDir()
	}
	target, err := os.Stat(path)
	return err == nil && target.IsDir()
}

// realPath returns the absolute path without symbolic links.
func realPath(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	return filepath.Abs(real)
}

// below reports whether a path is the directory or inside it.
func below(path, directory string) bool {
	relative, err := filepath.Rel(directory, path)
	return err == nil && relative != ".." && !strings.HasPrefix(relative, ".."+string(filepath.Separator))
}

// reason returns the message of a system error without the path.
func reason(err error) string {
	if inner, ok := errors.AsType[*fs.PathError](err); ok {
		err = inner.Err
	}
	return err.Error()
}
