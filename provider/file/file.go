// Package file reads the dynamic configuration from one file or from a directory with its subdirectories.
//
// Input: YAML and TOML files, with Go templates. Output: dynamic.Messages with the whole state of all files, in which
// an object that has not changed keeps its pointer. Directories are watched rather than files, so that the ways in
// which editors and Kubernetes replace a file are seen.
//
// A file that cannot be read or understood changes nothing: its last good state is sent again, with a verdict on the
// file, and the other files are not affected. The package writes no file and does not read the certificates and keys
// that a configuration names: it only notes when they change.
package file

import (
	"context"
	"errors"
	"time"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Name is the provider's name, the part behind @ of the names of its objects.
const Name = "file"

const (
	// DefaultMaxFileSize is the largest file in bytes that is read, and the most that its template may generate.
	DefaultMaxFileSize = 32 << 20
	// DefaultSettle is how long the files must be quiet before they are read again.
	DefaultSettle = 50 * time.Millisecond
	// emptyRounds is how long a file that had content must be empty until that is believed, in multiples of the settling
	// time: a file that is written in place is empty at first.
	emptyRounds = 20
	// settleRounds bounds the wait for files that never are quiet, in multiples of the settling time.
	settleRounds = 10
	// pollInterval is how often files are looked at where they cannot be watched.
	pollInterval = 5 * time.Second
)

// Provider is the provider of files.
type Provider struct {
	config  static.FileProvider
	logger  telemetry.Logger
	maxSize int64
	settle  time.Duration
	reload  chan struct{}

	// What follows belongs to Provide, and outlives it, so that a provider that is started again keeps its last state.
	decoder dynamic.Decoder
	files   map[string]*source
	stamps  map[any]stamp
	// named are the files that the objects name.
	named []string
	// doubtful says that a file is empty and may be about to be written.
	doubtful     bool
	last         *dynamic.Message
	lastFindings []dynamic.Verdict
}

// Option changes how a Provider works.
type Option func(*Provider)

// WithMaxFileSize sets the largest file in bytes that is read. The default is DefaultMaxFileSize.
func WithMaxFileSize(bytes int64) Option { return func(p *Provider) { p.maxSize = bytes } }

// WithSettle sets how long the files must be quiet before they are read again. The default is DefaultSettle.
func WithSettle(quiet time.Duration) Option { return func(p *Provider) { p.settle = quiet } }

// New returns a provider for the file or the directory that config names; naming none or both is an error. Whether
// they can be read is found out by Provide.
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

// Reload makes the provider read everything again and send its state, whether or not it has changed, also when it does
// not watch. It returns at once and may be called from any goroutine.
func (p *Provider) Reload() {
	select {
	case p.reload <- struct{}{}:
	default:
	}
}

// Provide implements provider.Provider. It returns nil when ctx ends, and nothing else ends it. It must not be called
// twice at once.
func (p *Provider) Provide(ctx context.Context, messages chan<- dynamic.Message) error {
	var w *watcher
	if p.config.Watch {
		w = newWatcher(p.logger)
		defer w.close()
	}
	for force := true; ; {
		if changed := p.scan(w); changed || force {
			select {
			case messages <- *p.last:
			case <-ctx.Done():
				return nil
			}
		}
		var running bool
		if force, running = p.wait(ctx, w); !running {
			return nil
		}
	}
}

// wait returns when the files should be read again; force says that the state is to be sent in any case.
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

// lost says that events have been lost, so that everything must be read again.
func (p *Provider) lost(err error) {
	p.logger.Warn("file provider: watching failed, reading everything again", "error", err)
}

// calm waits until nothing has happened for the settling time, so that a file is not read while it is written.
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
