package streams

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// insideVariable says that the process is in a network namespace of its own.
const insideVariable = "TEST_STREAMS_NAMESPACE"

// inNamespace runs the test again in a network namespace that a script prepares, with a /run of its own, and reports
// whether it is there.
func inNamespace(t *testing.T, script string) bool {
	t.Helper()
	if os.Getenv(insideVariable) != "" {
		return true
	}
	arguments := []string{"--net", "--mount", "--propagation", "private"}
	if os.Getuid() != 0 {
		arguments = append(arguments, "--map-root-user")
	}
	arguments = append(arguments, "sh", "-c", `set -e; mount -t tmpfs tmpfs /run; `+script+`; exec "$@"`, "sh")
	probe := exec.CommandContext(t.Context(), "unshare", append(arguments, "true")...)
	if output, err := probe.CombinedOutput(); err != nil {
		t.Skipf("network namespaces are not allowed here: %v %s", err, output)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	arguments = append(arguments, program, "-test.run=^"+t.Name()+"$", "-test.v="+verbose())
	command := exec.CommandContext(t.Context(), "unshare", arguments...)
	command.Env = append(os.Environ(), insideVariable+"=yes")
	output, err := command.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, output)
	} else {
		t.Logf("%s", output)
	}
	return false
}

func verbose() string {
	if testing.Verbose() {
		return "true"
	}
	return "false"
}

// within calls a function in another network namespace, by the name that ip netns has given it. Sockets that the
// function makes stay there.
func within(t *testing.T, namespace string, do func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // The thread ends with the goroutine.
		file, err := os.Open(filepath.Join("/run/netns", namespace))
		if err == nil {
			err = unix.Setns(int(file.Fd()), unix.CLONE_NEWNET)
			_ = file.Close()
		}
		if err == nil {
			do()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
