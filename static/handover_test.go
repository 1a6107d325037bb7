package static

import (
	"runtime"
	"strings"
	"testing"
)

// TestHandoverOptions lists combinations of options, and what is wrong with them.
func TestHandoverOptions(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("missing tool: sockets are handed over on Linux alone")
	}
	for _, test := range []struct{ name, options, want string }{
		{"a socket", "handover: {socket: /run/sluice/sluice.sock}", ""},
		{"all options", "handover: {socket: /run/sluice/sluice.sock, drain: 1h, stay: true}", ""},
		{"no socket", "handover: {}", "handover.socket: is missing"},
		{"a relative path", "handover: {socket: sluice.sock}", "is no absolute path"},
		{"a long path", "handover: {socket: /" + strings.Repeat("x", 100) + "}", "has 101 bytes, at most 100"},
		{"a negative time", "handover: {socket: /run/sluice.sock, drain: -1s}", "handover.drain"},
		{"sections that listen", "handover: {socket: /run/sluice.sock}\nxds: {}\ninspector: {}", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, findings := load(t, "entryPoints: {web: {address: ':1'}}\n"+test.options+"\n", nil, nil)
			var errs []string
			for _, finding := range findings {
				if finding.Severity == Error {
					errs = append(errs, finding.String())
				}
			}
			if got := strings.Join(errs, "; "); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
