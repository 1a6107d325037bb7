// Command generate makes what follows from the Go types of the custom resources.
//
// In: the types of the package above, with their markers, and controller-gen, which reads them. Out: their deep copies,
// beside them, and the definitions in deploy/crds, a folder for each group, ready for an API server. It runs within the
// repository (`make generate`), and never speaks to a cluster.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Where things are, from the root of the repository.
const (
	types       = "provider/kubernetes/crd/v1alpha1"
	deepCopies  = "zz_generated.deepcopy.go"
	definitions = "deploy/crds"
)

func main() {
	tool := flag.String("tool", ".cache/bin/controller-gen", "the `path` of controller-gen")
	flag.Parse()
	if err := generate(context.Background(), *tool, "."); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// generate replaces what is generated below root.
func generate(ctx context.Context, tool, root string) error {
	made, err := files(ctx, tool, root)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(root, definitions)); err != nil {
		return err
	}
	for name, content := range made {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// files makes the content of all generated files, by their paths from root.
func files(ctx context.Context, tool, root string) (map[string][]byte, error) {
	folder, err := os.MkdirTemp("", "generate-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	tool, err = filepath.Abs(tool)
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, tool, "object", "crd:allowDangerousTypes=true", "paths=./"+types,
		"output:object:dir="+folder, "output:crd:dir="+folder)
	command.Dir = root
	if output, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", tool, err, output)
	}
	copies, err := os.ReadFile(filepath.Join(folder, deepCopies))
	if err != nil {
		return nil, err
	}
	made := map[string][]byte{filepath.Join(types, deepCopies): copies}
	sources, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return nil, err
	}
	for _, source := range sources {
		content, err := os.ReadFile(source)
		if err != nil {
			return nil, err
		}
		if err := addDefinitions(made, content); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(source), err)
		}
	}
	addList(made)
	return made, nil
}
