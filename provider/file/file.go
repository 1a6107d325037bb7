// Package file reads the dynamic configuration from one file or from a directory with its subdirectories.
//
// Provider reads YAML and TOML files, with Go templates, and sends the state of all files, in which unchanged objects
// keep their pointers. It watches directories rather than files, to detect every way in which editors and Kubernetes
// replace files.
//
// A file that cannot be read or parsed keeps its last valid state and gets a verdict; other files are not affected.
// Certificates and keys that a configuration names are not read here, only watched for changes.
package file

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Name is the provider's name, the part after @ in the names of its objects.
const Name = "file"

const (
	// DefaultMaxFileSize is the default maximum size of a file, and of the output of its template, in bytes.
	DefaultMaxFileSize = 32 << 20
	// DefaultSettle is how long the files must be quiet before they are read again.
	DefaultSettle = 50 * time.Millisecond
	// emptyRounds is how long a file that had content must be empty to be used as empty, in multiples of the settling
	// time: a file that is written in place is empty at first.
	emptyRounds = 20
	// settleRounds bounds the wait for files that keep changing, in multiples of the settling time.
	settleRounds = 10
	// pollInterval is the polling interval for files that cannot be watched.
	pollInterval = 5 * time.Second
)

// Provider is the provider of files.
type Provider struct {
	config  static.FileProvider
	logger  telemetry.Logger
	maxSize int64
	settle  time.Duration
	reload  chan struct{}
	mu      sync.Mutex
	// reloaded is closed when a call of Reload has been answered; nil when there has been none since the last answer.
	reloaded chan struct{}
	// staticFile is the file of the static configuration; empty if there is none.
	staticFile string
	// only are the files to read, whatever the directory holds; nil for all of it.
	only []string

	// The fields below are used by Provide only. They survive a restart of the provider, which keeps its last state.
	decoder dynamic.Decoder
	files   map[string]*source
	stamps  map[any]stamp
	// named are the files that objects refer to.
	named []string
	// doubtful is set if a file is empty and may be about to be written.
	doubtful     bool
	last         *dynamic.Message
	lastFindings []dynamic.Verdict
}

// Option configures a Provider.
type Option func(*Provider)

// WithMaxFileSize sets the maximum size of a file in bytes. The default is DefaultMaxFileSize.
func WithMaxFileSize(bytes int64) Option { return func(p *Provider) { p.maxSize = bytes } }

// WithSettle sets how long the files must be quiet before they are read again. The default is DefaultSettle.
func WithSettle(quiet time.Duration) Option { return func(p *Provider) { p.settle = quiet } }

// WithStaticFile names the file of the static configuration, whose static sections are none of the provider's. In other
// files they are misplaced. By default there is no such file.
func WithStaticFile(path string) Option { return func(p *Provider) { p.staticFile = path } }

// WithFiles has the provider read these files alone, whatever file or directory is configured; nil changes nothing.
func WithFiles(paths []string) Option { return func(p *Provider) { p.only = paths } }

// New returns a provider for a file or a directory; exactly one must be configured. Provide reads them.
func New(config static.FileProvider, logger telemetry.Logger, options ...Option) (*Provider, error) {
	switch {
	case config.Filename == "" && config.Directory == "":
		return nil, errors.New("providers.file: one of filename and directory must be given")
	case config.Filename != "" && config.Directory != "":
		return nil, errors.New("providers.file: filename and directory exclude each other")
	}
	p := &Provider{
		config: config, logger: logger, maxSize: DefaultMaxFileSize, settle: DefaultSettle,
		reload: make(chan struct{}, 1), files: map[string]*source{}, stamps: map[any]stamp{},
	}
	for _, option := range options {
		option(p)
	}
	return p, nil
}

// Reload makes the provider read everything again and send its state, even if unchanged or if it does not watch. It
// does not block and is safe for concurrent use. The channel is closed when what was read after the call has been sent;
// it stays open when Provide does not run any more.
func (p *Provider) Reload() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reloaded == nil {
		p.reloaded = make(chan struct{})
	}
	select {
	case p.reload <- struct{}{}:
	default:
	}
	return p.reloaded
}

// answer returns what is to be closed when a scan that begins now has been sent.
func (p *Provider) answer() chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	reloaded := p.reloaded
	p.reloaded = nil
	return reloaded
}

// Provide implements provider.Provider. It returns nil when ctx ends. It must not be called twice at once.
func (p *Provider) Provide(ctx context.Context, messages chan<- dynamic.Message) error {
	var w *watcher
	if p.config.Watch {
		w = newWatcher(p.logger)
		defer w.close()
	}
	for force := true; ; {
		reloaded := p.answer()
		changed := p.scan(ctx, w)
		if ctx.Err() != nil { // Templates have been stopped, so that the scan is not complete.
			return nil
		}
		if changed || force {
			select {
			case messages <- *p.last:
			case <-ctx.Done():
				return nil
			}
		}
		if reloaded != nil {
			close(reloaded)
		}
		var running bool
		if force, running = p.wait(ctx, w); !running {
			return nil
		}
	}
}

// wait returns when the files should be read again; force means that the state is to be sent in any case.
func (p *Provider) wait(ctx context.Context, w *watcher) (force, running bool) {
	var again <-chan time.Time
	if p.doubtful || w.blind() {
		delay := pollInterval
		if p.doubtful {
			delay = emptyRounds * p.settle
		}
		timer := time.NewTimer(delay)
		defer timer.Stop()
		again = timer.C
	}
	for {
		select {
		case <-ctx.Done():
			return false, false
		case <-p.reload:
			return true, true
		case <-again:
			return false, true
		case event, open := <-w.events():
			if open && w.relevant(event) {
				return false, p.calm(ctx, w)
			}
		case err := <-w.errors():
			p.lost(err)
			return false, true
		}
	}
}

// lost logs that events have been lost, so that everything must be read again.
func (p *Provider) lost(err error) {
	p.logger.Warn("file provider: watching failed, reading everything again", "error", err)
}

// calm waits until there has been no event for the settling time, so that a file is not read while it is written.
func (p *Provider) calm(ctx context.Context, w *watcher) (running bool) {
	quiet := time.NewTimer(p.settle)
	defer quiet.Stop()
	limit := time.NewTimer(settleRounds * p.settle)
	defer limit.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-quiet.C:
			return true
		case <-limit.C:
			return true
		case event, open := <-w.events():
			if open && w.relevant(event) {
				quiet.Reset(p.settle)
			}
		case err := <-w.errors():
			p.lost(err)
			return true
		}
	}
}
