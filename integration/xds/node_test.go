package xds

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// modulesVariable is the environment variable with the folder of grpc-js; empty without it.
const modulesVariable = "TEST_GRPCJS"

// findModules has .ci/tools install grpc-js, unless it is there. The test binary does so before it starts again in a
// namespace without a network.
func findModules() error {
	if _, found := os.LookupEnv(modulesVariable); found {
		return nil
	}
	output, err := exec.Command(filepath.Join("../..", ".ci", "tools"), "grpcjs").Output() //nolint:noctx // TestMain has no context.
	lines := strings.Split(strings.TrimSpace(string(output)), "\n")
	modules := lines[len(lines)-1]
	if err == nil {
		_, err = os.Stat(filepath.Join(modules, "node_modules"))
	}
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "grpc-js: %v: %s\n", err, output)
		modules = ""
	}
	return os.Setenv(modulesVariable, modules)
}

// node is grpc-js by xDS, in a process of its own.
type node struct {
	t     testing.TB
	words io.Writer
	said  *bufio.Reader

	mu sync.Mutex
}

// newNode starts the process, which ends with the test. It returns why there is none where it cannot be had.
func newNode(t testing.TB) (n *node, missing string) {
	t.Helper()
	modules := os.Getenv(modulesVariable)
	if modules == "" {
		return nil, "missing tool: grpc-js with xDS"
	}
	file := filepath.Join(t.TempDir(), "bootstrap.json")
	if err := os.WriteFile(file, []byte(bootstrap("node")), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command("node", "calls.mjs") //nolint:noctx // It ends with its standard input.
	command.Env = append(os.Environ(), "MODULES="+modules, "GRPC_XDS_BOOTSTRAP="+file,
		fmt.Sprintf("TURN=%d", turn.Milliseconds()), fmt.Sprintf("MESSAGES=%d", messages),
		fmt.Sprintf("WORKERS=%d", workers))
	command.Stderr = os.Stderr
	words, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = words.Close()
		if err := command.Wait(); err != nil {
			t.Errorf("node: %v", err)
		}
	})
	return &node{t: t, words: words, said: bufio.NewReader(said)}, ""
}

func (n *node) String() string { return "grpc-js xds" }

func (n *node) start(service string) { n.say("start " + service) }

func (n *node) say(line string) {
	n.t.Helper()
	if _, err := io.WriteString(n.words, line+"\n"); err != nil {
		n.t.Fatalf("node: %v", err)
	}
}

func (n *node) tally() scores {
	n.t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.say("tally")
	line := make(chan []byte, 1)
	go func() {
		text, _ := n.said.ReadBytes('\n') // An end without a line is no JSON.
		line <- text
	}()
	found := scores{}
	if err := json.Unmarshal(harness.Await(n.t, line, "a tally of node"), &found); err != nil {
		n.t.Fatalf("node: %v", err)
	}
	return found
}
