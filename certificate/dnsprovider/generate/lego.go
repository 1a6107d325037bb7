package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/pelletier/go-toml/v2"
)

// provider is one DNS provider of lego.
type provider struct {
	name    string // of the option, and of the package
	aliases []string
	title   string
	// credentials and settings are environment variables.
	credentials, settings []string
	where                 place
	module                string // that is missing, when unavailable
}

// description is the part of a provider's TOML file that is used.
type description struct {
	Name          string
	Code          string
	Aliases       []string
	Configuration struct {
		Credentials map[string]string
		Additional  map[string]string
	}
}

// read reads lego's folder of providers, in the order of their names.
func read(dir string) ([]provider, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []provider
	for _, entry := range entries {
		if !entry.IsDir() || entry.Name() == "internal" {
			continue
		}
		one, err := readProvider(filepath.Join(dir, entry.Name(), entry.Name()+".toml"))
		if err != nil {
			return nil, err
		}
		if one.name != entry.Name() {
			return nil, fmt.Errorf("the package %s describes the provider %s", entry.Name(), one.name)
		}
		all = append(all, one)
	}
	return all, nil
}

func readProvider(file string) (provider, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return provider{}, err
	}
	var told description
	if err := toml.Unmarshal(text, &told); err != nil {
		return provider{}, fmt.Errorf("%s: %w", file, err)
	}
	slices.Sort(told.Aliases)
	one := provider{
		name: told.Code, aliases: told.Aliases, title: told.Name,
		credentials: slices.Sorted(maps.Keys(told.Configuration.Credentials)),
		settings:    slices.Sorted(maps.Keys(told.Configuration.Additional)),
	}
	if one.name == "exec" { // Its file has them in prose.
		one.credentials = []string{"EXEC_PATH"}
		one.settings = []string{"EXEC_MODE", "EXEC_POLLING_INTERVAL", "EXEC_PROPAGATION_TIMEOUT", "EXEC_SEQUENCE_INTERVAL"}
	}
	return one, nil
}
