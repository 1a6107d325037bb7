package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// phase is one call of go test.
type phase struct {
	name     string
	dir      string // that of the module; empty is the current one
	flags    []string
	env      []string // beside that of the process
	packages []string
	lacks    string // the tool without which the phase runs in a weaker way, as a skip's reason
}

// plan divides the packages of the module, which is in the current folder, into the unit tests and the integration
// tests. The integration tests are not cached and run one package at a time: they start the built binary, and some of
// them measure. The unit tests of each module below sdk are a phase of their own. With the profile of cmd/sluice, all
// packages below it would be compiled twice under the race detector; go vet would analyse all dependencies in each
// phase, and is one of the linters. The integration tests share builds with the linters and the tools.
func plan(ctx context.Context, only string, compiler bool) ([]phase, error) {
	packages, err := list(ctx, "")
	if err != nil {
		return nil, err
	}
	unit := phase{name: "unit tests", flags: []string{"-pgo=off", "-vet=off", "-timeout", "10m"}}
	whole := phase{
		name:  "integration tests",
		flags: []string{"-trimpath", "-vet=off", "-count=1", "-p=1", "-timeout", "20m"}, env: []string{"CGO_ENABLED=0"},
	}
	if compiler {
		unit.flags = append(unit.flags, "-race")
	} else {
		unit.lacks = "missing tool: a C compiler, so that the race detector is off"
	}
	for _, name := range packages {
		if strings.Contains(name+"/", "/integration/") {
			whole.packages = append(whole.packages, name)
		} else {
			unit.packages = append(unit.packages, name)
		}
	}
	libraries, err := sdk(ctx, unit.flags)
	if err != nil {
		return nil, err
	}
	units := append([]phase{unit}, libraries...)
	switch only {
	case "":
		return append(units, whole), nil
	case "unit":
		return units, nil
	case "integration":
		return []phase{whole}, nil
	}
	return nil, fmt.Errorf("unknown phase %q: unit or integration", only)
}

// sdk returns a phase for each module below sdk: libraries for applications, which ./... does not match.
func sdk(ctx context.Context, flags []string) ([]phase, error) {
	var phases []phase
	for _, pattern := range []string{"sdk/*/go.mod", "sdk/*/*/go.mod"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			dir := filepath.Dir(name)
			packages, err := list(ctx, dir)
			if err != nil {
				return nil, err
			}
			phases = append(phases, phase{name: "unit tests of " + dir, dir: dir, flags: flags, packages: packages})
		}
	}
	return phases, nil
}

// list returns the import paths of the packages of the module in a folder.
func list(ctx context.Context, dir string) ([]string, error) {
	command := exec.CommandContext(ctx, "go", "list", "./...")
	command.Dir = dir
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	return strings.Fields(string(out)), nil
}
