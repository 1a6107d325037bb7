// Command generate writes the registry of DNS providers, and the page about them, from the source of lego.
//
// In: lego's directory of providers, of which each has a file in TOML with its name and its environment variables, and
// the table of this package of what is not linked. Out: the generated files of the package above, and
// docs/certificates-dns.md. It runs within the repository (`make generate`).
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Where things are, from the root of the repository.
const (
	folder = "certificate/dnsprovider"
	page   = "docs/certificates-dns.md"
)

// lego is the module that the providers are from.
const lego = "github.com/go-acme/lego/v5"

func main() {
	if err := generate(context.Background(), "."); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// generate replaces what is generated below root.
func generate(ctx context.Context, root string) error {
	made, err := files(ctx, root)
	if err != nil {
		return err
	}
	for name, content := range made {
		if err := os.WriteFile(filepath.Join(root, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// files makes the content of all generated files, by their paths from root.
func files(ctx context.Context, root string) (map[string][]byte, error) {
	dir, err := moduleDir(ctx, root)
	if err != nil {
		return nil, err
	}
	providers, err := read(filepath.Join(dir, "providers", "dns"))
	if err != nil {
		return nil, err
	}
	if err := assign(providers); err != nil {
		return nil, err
	}
	made, err := code(providers)
	if err != nil {
		return nil, err
	}
	made[page] = document(providers)
	return made, nil
}

// moduleDir returns where the go command keeps the source of lego, which it downloads if it must.
func moduleDir(ctx context.Context, root string) (string, error) {
	command := exec.CommandContext(ctx, "go", "mod", "download", "-json", lego)
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("go mod download %s: %w", lego, err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return "", fmt.Errorf("go mod download %s: %w", lego, err)
	}
	return module.Dir, nil
}
