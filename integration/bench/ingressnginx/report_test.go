package ingressnginx

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// row is a line of the page.
type row struct {
	key, title, unit string
	// bounded says that the figure must not exceed must.
	bounded bool
	must    float64
}

// rows are all lines of the page.
func rows() []row {
	return []row{
		{"start", "from the start of the process to 200 of /ready, median", "s", true, 2},
		{"start-cpu", "CPU of it, median", "s", false, 0},
		{"start-memory", "memory after it, median", "MiB", false, 0},
		{"edit", "edit of an Ingress, from the API server's answer to the first answer that has changed, median", "ms", true, 20},
		{"edit-p99", "the same, p99", "ms", false, 0},
		{"edit-event", "the same, from the event of a watch beside it, median", "ms", false, 0},
		{"edit-cpu", "CPU of an edit", "ms", false, 0},
		{"flip-failed", "failed requests to 20 hosts while the annotations of 200 others change every 5 ms", "", true, 0},
		{"turn-failed", "failed requests to a host whose Service and upstream-vhost change every 50 ms meanwhile", "", true, 0},
		{"turn-mixed", "requests of it that the one Service got with the other one's host", "", true, 0},
	}
}

// write writes the page.
func (r *results) write(tb testing.TB, asked *settings, began time.Time) error {
	tb.Helper()
	var page strings.Builder
	fmt.Fprintf(&page, "# Ingresses of ingress-nginx, %s\n\n```sh\nmake bench INGRESS=%s PARTS='%v'\n```\n\n",
		began.Format(time.DateOnly), asked.size, asked.parts)
	fmt.Fprintf(&page, "%s\n\n%v in all.\n\n%s\n## Every measurement\n\n```text\n%s\n```\n",
		strings.Join(strings.Fields(harness.Run(tb, tb.TempDir(), nil, "version").Stdout), " "),
		time.Since(began).Round(time.Second), r.table(), strings.Join(r.lines, "\n"))
	if err := os.MkdirAll(filepath.Dir(asked.page), 0o755); err != nil {
		return err
	}
	return os.WriteFile(asked.page, []byte(page.String()), 0o644)
}

// table is the table of all figures with their bounds.
func (r *results) table() string {
	var out strings.Builder
	out.WriteString("| | Sluice | must | |\n|---|---|---|---|\n")
	for _, row := range rows() {
		value, measured := r.of[row.key]
		if !measured {
			continue
		}
		must, verdict := "", ""
		if row.bounded {
			must, verdict = fmt.Sprintf("≤ %v %s", row.must, row.unit), "met"
			if value > row.must {
				verdict = "**not met**"
			}
		}
		fmt.Fprintf(&out, "| %s | %.4g %s | %s | %s |\n", row.title, value, row.unit, must, verdict)
	}
	return out.String()
}
