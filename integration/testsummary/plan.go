package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// phase is one call of go test.
type phase struct {
	name     string
	flags    []string
	packages []string
	lacks    string // the tool without which the phase runs in a weaker way, as a skip's reason
}

// plan divides the module's packages into the unit tests and the integration tests. The integration tests are not
// cached and run one package at a time: they start the built binary, and some of them measure.
func plan(ctx context.Context, only string, compiler bool) ([]phase, error) {
	packages, err := list(ctx)
	if err != nil {
		return nil, err
	}
	unit := phase{name: "unit tests", flags: []string{"-timeout", "10m"}}
	whole := phase{name: "integration tests", flags: []string{"-count=1", "-p=1", "-timeout", "20m"}}
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
	switch only {
	case "":
		return []phase{unit, whole}, nil
	case "unit":
		return []phase{unit}, nil
	case "integration":
		return []phase{whole}, nil
	}
	return nil, fmt.Errorf("unknown phase %q: unit or integration", only)
}

// list returns the import paths of the module's packages.
func list(ctx context.Context) ([]string, error) {
	command := exec.CommandContext(ctx, "go", "list", "./...")
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	return strings.Fields(string(out)), nil
}
