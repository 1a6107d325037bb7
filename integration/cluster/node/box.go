package node

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// boxVariable is set in a process of this program that becomes a container.
const boxVariable = "TEST_CLUSTER_BOX"

// box is what a container is isolated by.
type box struct {
	// Namespace is the path of its network namespace, Root its file system.
	Namespace, Root string
	// Mounts are directories and files by their place in the file system.
	Mounts map[string]string
	// Capabilities are those that it keeps, without CAP_; all others are dropped.
	Capabilities []string
	// Escalates is whether programs with more privileges may be started.
	Escalates bool
	// Command is what it runs, Env the environment.
	Command, Env []string
}

// launch starts the box as a child, the first process of a PID namespace of its own.
func (b *box) launch(output io.Writer) (*exec.Cmd, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	command := exec.Command(program) //nolint:noctx // ends by a signal
	command.Env = []string{boxVariable + "=" + string(encoded)}
	command.Stdout, command.Stderr = output, output
	if command.SysProcAttr, err = apart(); err != nil {
		return nil, err
	}
	return command, command.Start()
}

// runBox turns this process into the container of a box. Its result is the exit code of a failure.
func runBox() int {
	var b box
	err := json.Unmarshal([]byte(os.Getenv(boxVariable)), &b)
	if err == nil {
		err = b.enter()
	}
	fmt.Fprintf(os.Stderr, "container: %v\n", err)
	return 1
}
