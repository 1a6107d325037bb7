package kubernetes

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/integration/harness"
)

// row is a line of the page. A bound of 0 is none.
type row struct {
	key, title, unit string
	must, aim        float64
	// traefik is what Traefik 3.7 did with 5,000 routes on the same harness.
	traefik string
}

// rows are all lines of the page, those with bounds first.
func rows() []row {
	return []row{
		{
			"moved", "endpoint change to traffic on the new endpoint, from before the request to the API server, median of 100",
			"ms", 25, 10, "590",
		},
		{"moved-worst", "the same, worst of 100", "ms", 100, 30, "726"},
		{"event", "from watch event to live snapshot, p99, while 100 changes a second arrive: within", "ms", 10, 2, ""},
		{"change", "CPU per endpoint change, beyond a bare informer", "ms", 1, 0.3, "29.6"},
		{"edit", "CPU per IngressRoute edit", "ms", 20, 5, ""},
		{"created", "IngressRoute created to first 200, median of 50", "ms", 150, 50, "about 2000"},
		{"start", "start of the process to serving the last route", "ms", 2500, 1500, "3600"},
		{"rss", "RSS after start", "MB", 150, 100, "264"},
		{"peak", "RSS, peak over churn", "MB", 250, 150, ""},
		{"xds-median", "endpoint change to the first xDS client, 2,000 streams, 100 changes a second, median", "ms", 25, 10, ""},
		{"xds-p99", "the same, p99", "ms", 50, 20, ""},
		{"xds-push", "CPU per response with endpoints to an xDS client", "µs", 30, 15, ""},
		{"exchange", "the same for a bare TCP server: a message and its answer on as many connections", "µs", 0, 0, ""},
		{"xds-alone", "CPU per endpoint change with xDS, without streams", "ms", 1.5, 0.5, ""},
		{"xds-stream", "memory per xDS stream with 20 services", "KiB", 60, 40, ""},
		{"xds-edge", "latency of requests with 2,000 streams, in relation to none", "times", 1.1, 1, ""},
		{"ready-ratio", "a pod of 5,000 with 500 tags becomes ready, to its first request, in relation to no environments, " +
			"median of 200", "times", 1.1, 1, ""},
		{"unready-ratio", "the same, it becomes not ready, to the first request without it", "times", 1.1, 1, ""},
		{"ready-divided", "a pod of 5,000 with 500 tags becomes ready, to its first request, median of 200", "ms", 0, 0, ""},
		{"ready-plain", "the same without environments", "ms", 0, 0, ""},
		{"pod-divided", "CPU per change of a pod of 5,000 with 500 tags", "ms", 0, 0, ""},
		{"pod-plain", "the same without environments", "ms", 0, 0, ""},
		{"tag", "first pod of a new tag to its first request, median of 50", "ms", 0, 0, ""},
		{"moved-answered", "endpoint change to traffic, from the API server's answer, median of 100", "ms", 0, 0, ""},
		{"moved-answered-worst", "the same, worst of 100", "ms", 0, 0, ""},
		{
			"seen", "from a bare informer's event to the first answer of the new endpoint, p99, while 100 a second arrive", "ms",
			0, 0, "",
		},
		{"crowd", "endpoint change to traffic, from before the request, p99, while 100 a second arrive", "ms", 0, 0, ""},
		{"change-gross", "CPU per endpoint change, with what a bare informer uses", "ms", 0, 0, ""},
		{"created-answered", "IngressRoute created to first 200, from the API server's answer, median of 50", "ms", 0, 0, ""},
	}
}

const (
	// disturbed is from how many percent of the machine on others have disturbed a measurement.
	disturbed = 10
	// mostGrowth is how much more CPU an endpoint change may cost with the most routes than with the fewest.
	mostGrowth = 1.5
	// judgedSize is the number of routes that the bounds are for.
	judgedSize = 5000
)

// judged returns which of the sizes the bounds are for: the last one when 5,000 is not among them.
func judged(sizes []int) int {
	if slices.Contains(sizes, judgedSize) {
		return judgedSize
	}
	return sizes[len(sizes)-1]
}

// write writes the page and prints its tables.
func (r *results) write(tb testing.TB, asked *settings, began time.Time) error {
	tb.Helper()
	tables := r.bounds(judged(asked.sizes)) + "\n" + r.everything(asked.sizes)
	_, _ = fmt.Fprintf(r.out, "\n%s\nwritten: %s\n", tables, asked.page)
	var page strings.Builder
	fmt.Fprintf(&page,
		"# Kubernetes, %s\n\n```sh\nmake bench KUBERNETES=only SIZES='%s' CHURN=%v ROUNDS=%d PARTS='%v'\n```\n\n",
		began.Format(time.DateOnly), strings.Trim(fmt.Sprint(asked.sizes), "[]"), asked.churn, asked.rounds, asked.parts)
	fmt.Fprintf(&page, "%s\n", preface)
	for _, line := range environment(tb) {
		fmt.Fprintf(&page, "- %s\n", line)
	}
	fmt.Fprintf(&page,
		"- %v in all\n\n%s\n## Every measurement\n\n```text\n%s\n```\n\n## Configuration\n\n```yaml\n%s\n```\n",
		time.Since(began).Round(time.Second), tables, strings.Join(r.lines, "\n"), strings.TrimSpace(static))
	if err := os.MkdirAll(filepath.Dir(asked.page), 0o755); err != nil {
		return err
	}
	return os.WriteFile(asked.page, []byte(page.String()), 0o644)
}

// preface describes the measurement.
const preface = `etcd, kube-apiserver and kube-controller-manager run in one process beside Sluice, the endpoints
and the clients, on the same cores. One IngressRoute, one headless Service without a selector and one EndpointSlice
with one or two endpoints belong together; slices are written directly. From watch event to live snapshot is what
Sluice's own histogram tells (sluice_endpoint_change_seconds); beside it stands what a client sees, from when a bare
informer had the event. A change moves a service from all of its endpoints to others; clients ask over connections
that stay open, every millisecond and for that route only. CPU is what the scheduler counts for Sluice's process, less
what it counts for the same time without changes; the bare informer is a process of its own that does nothing but
watch EndpointSlices, with client-go and protobuf. MB are millions of bytes. Where others used 10 % of the machine or
more, a figure is marked as disturbed.
`

// bounds is the table of what Sluice must reach.
func (r *results) bounds(size int) string {
	var out strings.Builder
	fmt.Fprintf(&out,
		"## Bounds\n\n| with %d IngressRoutes, Services and EndpointSlices | Traefik 3.7 with 5000, measured before | "+
			"Sluice | must | aim | |\n|---|---|---|---|---|---|\n", size)
	for _, row := range rows() {
		if row.must == 0 {
			continue
		}
		verdict := "not measured"
		if f := r.of[size][row.key]; f != nil {
			verdict = "met"
			if middle(f.values) > row.must {
				verdict = "**not met**"
			}
			if middle(f.others) >= disturbed {
				verdict += ", disturbed"
			}
		}
		traefik := row.traefik
		if traefik != "" {
			traefik += " " + row.unit
		}
		fmt.Fprintf(&out, "| %s | %s | %s | ≤ %v %s | ≤ %v %s | %s |\n", row.title, traefik, r.cell(size, row), row.must,
			row.unit, row.aim, row.unit, verdict)
	}
	return out.String()
}

// cell returns a figure of a size with its unit, and the least and the largest where it was measured several times.
func (r *results) cell(size int, row row) string {
	f := r.of[size][row.key]
	if f == nil {
		return "–"
	}
	digits := 0
	for limit := 100.0; digits < 3 && middle(f.values) < limit; limit /= 10 {
		digits++
	}
	cell := fmt.Sprintf("%.*f %s", digits, middle(f.values), row.unit)
	if len(f.values) > 1 {
		cell += fmt.Sprintf(" (%.*f–%.*f)", digits, slices.Min(f.values), digits, slices.Max(f.values))
	}
	return cell
}

// everything is the table of all sizes.
func (r *results) everything(sizes []int) string {
	var out strings.Builder
	out.WriteString("## All sizes\n\n| |")
	for _, size := range sizes {
		fmt.Fprintf(&out, " %d routes |", size)
	}
	out.WriteString("\n|---|" + strings.Repeat("---|", len(sizes)) + "\n")
	for _, row := range rows() {
		fmt.Fprintf(&out, "| %s |", row.title)
		for _, size := range sizes {
			fmt.Fprintf(&out, " %s |", r.cell(size, row))
		}
		out.WriteString("\n")
	}
	out.WriteString(r.growth(sizes))
	return out.String()
}

// growth describes how the cost of a change grows with the number of routes. It uses the total of Sluice: the
// difference to an informer may be too small for a ratio.
func (r *results) growth(sizes []int) string {
	few, many := sizes[0], sizes[len(sizes)-1]
	least, most := r.of[few]["change-gross"], r.of[many]["change-gross"]
	if few == many || least == nil || most == nil {
		return ""
	}
	ratio := middle(most.values) / middle(least.values)
	verdict := "met"
	if ratio > mostGrowth {
		verdict = "**not met**"
	}
	return fmt.Sprintf("\nAn endpoint change with %d routes costs %.2f times the CPU of one with %d, with what a bare "+
		"informer uses (must ≤ %v: %s).\n",
		many, ratio, few, mostGrowth, verdict)
}

// environment is the machine and the versions of everything that takes part, a line each.
func environment(tb testing.TB) []string {
	tb.Helper()
	version := harness.Run(tb, tb.TempDir(), nil, "version").Stdout
	libraries, err := exec.CommandContext(tb.Context(), "go", "list", "-m", "k8s.io/client-go").Output()
	if err != nil {
		tb.Fatal(err)
	}
	controlPlane, err := os.ReadFile("../../cluster/controlplane/go.mod")
	if err != nil {
		tb.Fatal(err)
	}
	var parts []string
	for _, match := range regexp.MustCompile(`(?m)^\s*(k8s\.io/kubernetes|go\.etcd\.io/etcd/server/v3) (\S+)`).FindAllStringSubmatch(string(controlPlane), -1) {
		parts = append(parts, match[1]+" "+match[2])
	}
	return []string{
		fmt.Sprintf("%s, %d cores, %s of memory", firstMatch("/proc/cpuinfo", `model name\s*: (.*)`), cores(),
			firstMatch("/proc/meminfo", `MemTotal:\s*(.*)`)),
		"Linux " + firstMatch("/proc/sys/kernel/osrelease", `(.*)`) + ", " + runtime.GOARCH,
		"Sluice: " + strings.Join(strings.Fields(version), " "),
		"control plane: " + strings.Join(parts, ", ") + "; clients: " + strings.TrimSpace(string(libraries)),
	}
}

// firstMatch returns the first group of a pattern in a file.
func firstMatch(file, pattern string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return "unknown"
	}
	match := regexp.MustCompile(pattern).FindStringSubmatch(string(text))
	if match == nil {
		return "unknown"
	}
	return strings.TrimSpace(match[1])
}
