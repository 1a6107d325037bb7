package gateway

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
		{"propagation", "HTTPRoute created to first 200, one after another, median", "ms", true, 15},
		{"propagation-p99", "the same, p99", "ms", true, 30},
		{"propagation-other", "answers neither 404 nor 200 meanwhile", "", true, 0},
		{"paced", "the same at 50 routes per second, median", "ms", true, 30},
		{"paced-other", "answers neither 404 nor 200 meanwhile", "", true, 0},
		{"attached", "routes created at once, from the last one to the number in attachedRoutes", "s", true, 1.5},
		{"detached", "from the last one's deletion to attachedRoutes 0", "s", true, 2},
		{"gateway-writes", "writes of the Gateway's status in both", "", true, 30},
		{"accepted", "from the last one's creation until all routes have a status", "s", false, 0},
		{"change-failed", "failed requests while backend and filter change every 200 ms", "", true, 0},
		{"change-mixed", "answers of the new backend with the old filter, or the reverse", "", true, 0},
		{"removed-failed", "failed requests while an endpoint of four is removed and comes back", "", true, 0},
		{"dead-failed", "failed requests per failure while an endpoint of four refuses connections", "", false, 0},
		{"controllers-lost", "entries of either controller that are lost or out of date at the end", "", true, 0},
		{"controllers-writes", "status writes in the 20 s after the last edit has settled", "", true, 0},
		{"load-cpu", "CPU per edit of a route among many", "ms", false, 0},
		{"load-traefik-cpu", "the same, Traefik", "ms", false, 0},
		{"load-share", "CPU of Sluice in that of Traefik", "%", true, 10},
		{"load-rss", "memory with these routes, peak over the edits", "MB", false, 0},
		{"load-traefik-rss", "the same, Traefik", "MB", false, 0},
		{"sets-start", "start with many ListenerSets until the last route serves", "s", true, 10},
		{"sets-rss", "memory after that", "MB", true, 400},
		{"sets-edit", "route of a ListenerSet edited, from the API server's answer to traffic, median", "ms", true, 20},
	}
}

// write writes the page.
func (r *results) write(tb testing.TB, asked *settings, began time.Time) error {
	tb.Helper()
	var page strings.Builder
	fmt.Fprintf(&page, "# Gateway API, %s\n\n```sh\nmake bench GATEWAY=%s PARTS='%v'\n```\n\n", began.Format(time.DateOnly),
		asked.size, asked.parts)
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
		f := r.of[row.key]
		if f == nil {
			continue
		}
		must, verdict := "", ""
		if row.bounded {
			must, verdict = fmt.Sprintf("≤ %v %s", row.must, row.unit), "met"
			if f.value > row.must {
				verdict = "**not met**"
			}
		}
		fmt.Fprintf(&out, "| %s | %.4g %s | %s | %s |\n", row.title, f.value, row.unit, must, verdict)
	}
	return out.String()
}
