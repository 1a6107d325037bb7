package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// lab is a temporary folder with the running endpoints.
type lab struct {
	settings    settings
	stdout      io.Writer
	folder      string
	owner       string
	descriptors int
	endpoints   *endpoints
	// capacity is nginx's capacity in requests per second; 0 if unknown.
	capacity float64
	// races counts the measurements in turns of each row.
	races map[string]int
}

// streamModule is nginx's module for TCP and UDP, where Debian's package installs it.
const streamModule = "/usr/lib/nginx/modules/ngx_stream_module.so"

// newLab makes the folder and starts the endpoints.
func newLab(ctx context.Context, settings settings, stdout io.Writer) (*lab, error) {
	if missing := missing(settings); len(missing) > 0 {
		return nil, fmt.Errorf("missing programs: %q", missing)
	}
	l := &lab{settings: settings, stdout: stdout, races: map[string]int{}}
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return nil, err
	}
	if cores, err := coreTicks(text); err != nil || len(cores) < 2 {
		return nil, fmt.Errorf("this machine has %d cores; the proxy and the load need one each: %w", len(cores), err)
	}
	if l.owner, err = userAndGroup(); err != nil {
		return nil, err
	}
	if l.descriptors, err = descriptors(); err != nil {
		return nil, err
	}
	if l.folder, err = os.MkdirTemp("", "sluice-bench-"); err != nil {
		return nil, err
	}
	if err := writeCertificate(l.folder); err != nil {
		l.close()
		return nil, err
	}
	if l.endpoints, err = startEndpoints(ctx, l.folder, settings.tools); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// missing returns the required programs that are not installed.
func missing(settings settings) []string {
	needed := []string{
		"taskset", "wrk", "nginx", settings.sluice, cmp.Or(settings.base, settings.sluice),
		filepath.Join(settings.tools, "load"), filepath.Join(settings.tools, "backend"),
	}
	for _, row := range settings.rows {
		if _, ok := row.load.(streams); ok {
			needed = append(needed, "h2load")
		}
		for _, who := range row.contestants {
			if who.program != "sluice" {
				needed = append(needed, who.program)
			}
			if who.program == "nginx" && who.relay {
				needed = append(needed, streamModule)
			}
		}
	}
	slices.Sort(needed)
	return slices.DeleteFunc(slices.Compact(needed), func(program string) bool {
		if program == streamModule { // It is a library, not a program.
			_, err := os.Stat(program)
			return err == nil
		}
		_, err := exec.LookPath(program)
		return err == nil
	})
}

// close ends the endpoints and removes the folder.
func (l *lab) close() {
	if l.endpoints != nil {
		l.endpoints.stop()
	}
	if err := os.RemoveAll(l.folder); err != nil {
		l.say("the folder %s is left: %v", l.folder, err)
	}
}

// say prints progress.
func (l *lab) say(format string, args ...any) {
	_, _ = fmt.Fprintf(l.stdout, format+"\n", args...)
}

// target returns the target of a row's load.
func (l *lab) target(row row, p *proxy) target {
	return target{
		ask: row.ask, plain: p.job.Plain, secure: p.job.Secure, through: p.job.Through,
		time: l.settings.time, capacity: l.capacity,
		hosts:  p.job.Hosts,
		folder: p.job.Dir, tools: l.settings.tools,
	}
}

// names are pairs of a path of this machine and its replacement in the page.
func (l *lab) names() []string {
	own, err := os.Getwd()
	if err != nil {
		own = l.folder
	}
	return []string{l.folder, "$DIR", own + "/", "", own, "."}
}

// now returns the time for the page.
func (l *lab) now() time.Time { return time.Now() }
