package house

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/static"
)

// TestSnippetsLoad loads every block of YAML and TOML in the documentation. The word after its language is static,
// dynamic, or other (not Sluice's); the path of the file may follow, see integration/pages. The README of a middleware
// has only dynamic configuration and needs no word.
func TestSnippetsLoad(t *testing.T) {
	var loaded int
	for _, page := range pages(t) {
		for _, block := range fences(t, page) {
			language, rest, _ := strings.Cut(block.info, " ")
			kind, _, _ := strings.Cut(rest, " ")
			if language != "yaml" && language != "toml" {
				continue
			}
			if kind == "" && within(page.path, "middleware") {
				kind = "dynamic"
			}
			place := fmt.Sprintf("%s:%d", block.path, block.line)
			switch kind {
			case "dynamic":
				loaded++
				tellFindings(t, place, dynamicFindings("snippet."+language, []byte(block.body)))
			case "static":
				loaded++
				tellFindings(t, place, staticFindings(t, "snippet."+language, block.body))
			case "both":
				loaded++
				tellFindings(t, place, staticFindings(t, "snippet."+language, block.body))
				tellFindings(t, place, dynamicFindings("snippet."+language, []byte(block.body)))
			case "other":
			default:
				t.Errorf("%s: say whose %s this is: static, dynamic, both or other", place, language)
			}
		}
	}
	if loaded == 0 {
		t.Error("the documentation shows no configuration")
	}
}

// TestExamplesLoad reads every configuration below deploy/examples: files named sluice.* are static, others dynamic.
// What is applied to a cluster is looked at by integration/deploy, what Compose reads is run by integration/docker.
func TestExamplesLoad(t *testing.T) {
	base := root(t)
	var loaded int
	for _, name := range files(t, filepath.Join(base, "deploy/examples")) {
		extension := filepath.Ext(name)
		if extension != ".yaml" && extension != ".yml" && extension != ".toml" ||
			within(name, "kubernetes") || strings.HasPrefix(filepath.Base(name), "docker-compose.") {
			continue
		}
		loaded++
		file := filepath.Join(base, "deploy/examples", name)
		if strings.HasPrefix(filepath.Base(name), "sluice.") {
			_, findings := static.Load(static.Sources{ConfigFile: file})
			tellFindings(t, name, lines(findings))
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tellFindings(t, name, dynamicFindings(name, content))
	}
	if loaded < 2 {
		t.Errorf("only %d configurations were found", loaded)
	}
}

func tellFindings(t *testing.T, place string, findings []string) {
	t.Helper()
	for _, finding := range findings {
		t.Errorf("%s: %s", place, finding)
	}
}

// dynamicFindings decodes a dynamic configuration, which may share a file with a static one, and returns what is wrong
// with it.
func dynamicFindings(name string, content []byte) []string {
	node, err := document.ParseWithDuplicates(name, content)
	if err != nil {
		return []string{err.Error()}
	}
	node, _ = node.Split(static.Sections())
	var found []string
	for _, verdict := range new(dynamic.Decoder).Decode(name, node, false).Verdicts {
		found = append(found, fmt.Sprintf("%s: %s", verdict.Origin, verdict.Reason))
	}
	return found
}

// staticFindings loads a static configuration and returns what is wrong with it. A snippet need not be complete.
func staticFindings(t *testing.T, name, content string) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	sources := static.Sources{ConfigFile: file}
	if strings.Contains(content, "filename: /etc/traefik/traefik.yml # this file") {
		sources.Args = []string{"--providers.file.filename=" + file}
	}
	_, findings := static.Load(sources)
	return lines(findings)
}

func lines(findings []static.Finding) []string {
	var found []string
	for _, finding := range findings {
		found = append(found, fmt.Sprintf("%s: %s", finding.Severity, finding))
	}
	return found
}

func TestBrokenSnippetsAreFound(t *testing.T) {
	if found := dynamicFindings("x.yaml", []byte("http:\n  routers:\n    a:\n      rul: Host(`a`)\n")); len(found) == 0 {
		t.Error("an unknown dynamic option was not found")
	}
	if found := staticFindings(t, "x.yaml", "entryPoints:\n  web:\n    addr: :80\n"); len(found) == 0 {
		t.Error("an unknown static option was not found")
	}
}
