package input

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// completions are command lines up to the cursor, and what is offered there.
func completions() map[string][]string {
	return map[string][]string{
		"sluice ch":                                {"check"},
		"sluice check --off":                       {"--offline"},
		"sluice --entryP":                          {"--entryPoints."},
		"sluice check --log.level=D":               {"DEBUG"},
		"sluice run --api.insecure=":               {"false", "true"},
		"sluice completion ":                       {"bash", "fish", "zsh"},
		"sluice certificates r":                    {"renew"},
		"sluice certificates import --dr":          {"--dry-run"},
		"sluice check --format=":                   {"github", "json", "sarif", "text"},
		"sluice explain GET --entryPo":             {"--entryPoints."},
		"sluice migrate ":                          {"ingress-nginx"},
		"sluice migrate ingress-nginx --default-b": {"--default-backend-service"},
		"sluice migrate ingress-nginx --format=":   {"html", "json", "markdown", "text"},
	}
}

// shell returns a folder with sluice in it and the completion script of a shell, or skips the test.
func shell(t *testing.T, name string) (folder, script string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("missing tool: %s is not installed", name)
	}
	folder = t.TempDir()
	if err := os.Symlink(harness.Binary(t), filepath.Join(folder, "sluice")); err != nil {
		t.Fatal(err)
	}
	result := harness.Run(t, folder, nil, "completion", name)
	if result.Code != 0 || result.Stderr != "" {
		t.Fatalf("exit code %d: %s", result.Code, result.Stderr)
	}
	script = filepath.Join(folder, "script")
	if err := os.WriteFile(script, []byte(result.Stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder, script
}

// offered runs a shell and returns the first words of its lines, sorted.
func offered(t *testing.T, folder, name string, args ...string) []string {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	command.Env = append(os.Environ(), "PATH="+folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var words []string
	for _, line := range lines(string(output)) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
		words = append(words, word)
	}
	slices.Sort(words)
	return words
}

func TestCompletionInBash(t *testing.T) {
	t.Parallel()
	folder, script := shell(t, "bash")
	// The function is part of bash-completion, and takes the command line apart.
	const words = `_get_comp_words_by_ref() { words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur=${words[cword]}; }
compopt() { :; }
source "$1"; IFS=' ' read -ra COMP_WORDS <<< "$2"; [[ $2 == *' ' ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_TYPE=9 COMPREPLY=()
__start_sluice; printf '%s\n' "${COMPREPLY[@]}"`
	for line, want := range completions() {
		if got := offered(t, folder, "bash", "-c", words, "bash", script, line); !slices.Equal(got, want) {
			t.Errorf("%q: %q is offered, want %q", line, got, want)
		}
	}
}

func TestCompletionInFish(t *testing.T) {
	t.Parallel()
	folder, script := shell(t, "fish")
	for line, want := range completions() {
		got := offered(t, folder, "fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", script, line)
		if _, flag, ok := strings.Cut(line, "="); ok {
			prefix := line[strings.LastIndex(line, " ")+1 : len(line)-len(flag)]
			for i := range got {
				got[i] = strings.TrimPrefix(got[i], prefix)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q is offered, want %q", line, got, want)
		}
	}
}

// What zsh offers is seen on a terminal alone: here it reads the script and knows the command.
func TestCompletionInZsh(t *testing.T) {
	t.Parallel()
	folder, script := shell(t, "zsh")
	got := offered(t, folder, "zsh", "-f", "-c", "autoload -U compinit && compinit -D && source $1 && print $_comps[sluice]",
		"zsh", script)
	if !slices.Equal(got, []string{"_sluice"}) {
		t.Errorf("the function is %q", got)
	}
}

func TestCompletionOfNoShell(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"completion"}, {"completion", "tcsh"}} {
		if result := harness.Run(t, t.TempDir(), nil, args...); result.Code != 2 || result.Stdout != "" ||
			result.Stderr != "sluice completion: name a shell: bash, zsh, fish\n" {
			t.Errorf("%q: exit code %d, %s%s", args, result.Code, result.Stdout, result.Stderr)
		}
	}
}

func TestManPages(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "man")
	result := harness.Run(t, t.TempDir(), []string{"SOURCE_DATE_EPOCH=1000000000"}, "man", folder)
	if result.Code != 0 || result.Stdout+result.Stderr != "" {
		t.Fatalf("exit code %d: %s%s", result.Code, result.Stdout, result.Stderr)
	}
	for page, want := range map[string]string{
		"sluice.1": "sluice-check(1)", "sluice-check.1": "Exit codes: 0", "sluice-explain.1": "--entrypoint",
		"sluice.yaml.5": "entryPoints.NAME.address",
	} {
		text, err := os.ReadFile(filepath.Join(folder, page))
		if err != nil {
			t.Fatal(err)
		}
		plain := strings.NewReplacer(`\-`, "-", `\fB`, "", `\fP`, "").Replace(string(text))
		if !strings.Contains(plain, want) || !strings.Contains(plain, "2001-09-09") {
			t.Errorf("%s lacks %q, or its date", page, want)
		}
	}
	pages, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("man"); err != nil {
		t.Skip("missing tool: man is not installed")
	}
	for _, page := range pages {
		command := exec.CommandContext(t.Context(), "man", "--warnings", "-E", "UTF-8", "-l", page)
		var said strings.Builder
		command.Stderr = &said
		if err := command.Run(); err != nil || said.Len() > 0 {
			t.Errorf("%s: %v %s", page, err, &said)
		}
	}
}
