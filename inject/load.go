package inject

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/sluiceproxy/sluice/document"
)

// maxFile is how large a file of a configuration may be, in bytes.
const maxFile = 8 << 20

// Load compiles the configuration at a path. A directory has the file config and may have the file values, as a mounted
// ConfigMap does. A file is a configuration, or the manifest of a ConfigMap with the key config and, optionally,
// values.
// Errors are those of [Parse], with the path of the file and its line.
func Load(path string) (*Configuration, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return loadDirectory(path)
	}
	return LoadFiles(path, "")
}

func loadDirectory(path string) (*Configuration, error) {
	values := filepath.Join(path, valuesKey)
	if _, err := os.Stat(values); errors.Is(err, os.ErrNotExist) {
		values = ""
	}
	return LoadFiles(filepath.Join(path, "config"), values)
}

// LoadFiles compiles the configuration of two files. The second one, with the values, may be "". Where the first one is
// the manifest of a ConfigMap, its key values counts only without the second one.
func LoadFiles(configPath, valuesPath string) (*Configuration, error) {
	data, err := document.ReadRegular(configPath, maxFile)
	if err != nil {
		return nil, err
	}
	config, values := source{file: configPath, data: data}, source{file: configPath}
	root, err := config.parse()
	if err != nil {
		return nil, err
	}
	if kind := root.Get("kind"); kind != nil && kind.Value.Value == "ConfigMap" {
		if config, values, err = config.configMap(root); err != nil {
			return nil, err
		}
	}
	if valuesPath != "" {
		if data, err = document.ReadRegular(valuesPath, maxFile); err != nil {
			return nil, err
		}
		values = source{file: valuesPath, data: data}
	}
	return compile(config, values)
}

// configMap returns the texts of the keys of a ConfigMap.
func (s source) configMap(root *document.Node) (config, values source, err error) {
	data := root.Get("data")
	if data == nil {
		return s, s, s.at([]fault{{root.Line, "the ConfigMap has no data"}})
	}
	field := data.Value.Get("config")
	if field == nil || field.Value.Kind != document.Scalar {
		return s, s, s.at([]fault{{data.Line, "the ConfigMap has no text under the key config"}})
	}
	config, values = s.inner(field.Value), source{file: s.file}
	if field := data.Value.Get(valuesKey); field != nil {
		values = s.inner(field.Value)
	}
	return config, values, nil
}
