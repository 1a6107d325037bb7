package handover

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// TestHealthcheck requires that the process that holds the socket is of the PID namespace of the command.
func TestHealthcheck(t *testing.T) {
	s := newService(t, "")
	current := harness.Start(t, s.setup)
	url := "http://" + current.Addr("traefik") + "/ready"
	args := []string{"healthcheck", "--handover", "--url=" + url, "--handover.socket=" + s.setup.Vars["SOCKET"]}
	if result := harness.Run(t, t.TempDir(), nil, args...); result.Code != 0 || result.Stdout != "ready: "+url+"\n" {
		t.Errorf("exit code %d: %s%s", result.Code, result.Stdout, result.Stderr)
	}
	namespace := []string{"--pid", "--fork", "--kill-child"}
	if exec.CommandContext(t.Context(), "unshare", append(namespace, "true")...).Run() != nil {
		t.Skip("missing tool: unshare, and the right to make PID namespaces")
	}
	command := exec.CommandContext(t.Context(), "unshare", append(append(namespace, harness.Binary(t)), args...)...)
	output, err := command.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(string(output), "is of another container") {
		t.Errorf("in another PID namespace: %v, %s", err, output)
	}
}
