package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// proxy is a running contestant.
type proxy struct {
	*process

	job job
}

// startProxy writes the configuration of a contestant into a new folder, starts it, and waits until a row's request
// gets the expected response.
func (l *lab) startProxy(ctx context.Context, row row, who contestant) (*proxy, error) {
	folder, err := os.MkdirTemp(l.folder, who.program+"-")
	if err != nil {
		return nil, err
	}
	ports, err := freePorts(ctx, 3)
	if err != nil {
		return nil, err
	}
	work := job{
		Dir: folder, User: l.owner, Plain: ports[0], Secure: ports[1], Through: ports[2],
		Descriptors: l.descriptors, Connections: 4096,
		Endpoints: l.endpoints.addresses[row.endpoint], Hosts: []string{host}, Middlewares: row.middlewares,
		Calls:     row.endpoint == calling,
		LogLevel:  "ERROR",
		Collector: l.endpoints.addresses[one][0], StreamModule: streamModule,
	}
	if who.change != nil {
		who.change(&work)
	}
	for _, name := range []string{"bench.pem", "bench.key", "bench.both"} {
		if err := os.Link(filepath.Join(l.folder, name), filepath.Join(folder, name)); err != nil {
			return nil, err
		}
	}
	for _, name := range who.files() {
		if err := render(folder, name, work); err != nil {
			return nil, fmt.Errorf("configuration of %s: %w", who.name, err)
		}
	}
	environment := append([]string{"HOME=" + folder, "XDG_DATA_HOME=" + folder, "XDG_CONFIG_HOME=" + folder},
		who.environment...)
	started, err := start(folder, who.program, who.cores, environment, who.command(l.settings.sluice, folder)...)
	if err != nil {
		return nil, err
	}
	p := &proxy{started, work}
	at := l.target(row, p)
	check := at.check
	if own, ok := row.load.(checker); ok {
		check = func(ctx context.Context) error { return own.check(ctx, at) }
	}
	if err := p.ready(ctx, startTime, check); err != nil {
		p.stop()
		return nil, err
	}
	return p, nil
}

// discard stops a proxy and removes its folder.
func (p *proxy) discard() {
	p.stop()
	_ = os.RemoveAll(p.job.Dir) // The parent folder is removed too.
}
