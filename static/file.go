package static

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
)

// findFile returns the first configuration file in the usual places, or "".
func findFile(environ environment) string {
	for _, directory := range SearchFolders(environ) {
		for _, name := range []string{"sluice", "traefik"} {
			for _, extension := range []string{".toml", ".yaml", ".yml"} {
				path := filepath.Join(directory, name+extension)
				if _, err := os.Stat(path); err == nil {
					return path
				}
			}
		}
	}
	return ""
}

// readFile reads the configuration file.
func (l *loader) readFile() {
	data, err := os.ReadFile(l.File)
	if err != nil {
		reason := err.Error()
		if pathError, ok := errors.AsType[*fs.PathError](err); ok {
			reason = pathError.Err.Error()
		}
		l.report(Error, l.File, 0, "", "cannot be read: "+reason)
		return
	}
	l.readDocument(data)
}

// readDocument reads the text of the configuration file.
func (l *loader) readDocument(data []byte) {
	root, err := document.ParseWithDuplicates(l.File, data)
	if err != nil {
		line, reason := 0, err.Error()
		if parseError, ok := errors.AsType[*document.Error](err); ok {
			line, reason = parseError.Line, parseError.Reason
		}
		l.report(Error, l.File, line, "", reason)
		return
	}
	l.root, l.dynamic = root.Split(dynamic.Sections())
}
