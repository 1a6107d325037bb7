package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/certificate/storage/open"
	"github.com/sluiceproxy/sluice/redact"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// storageTimeout is how long a storage may take to answer a command.
const storageTimeout = 15 * time.Second

// stores are the storages of the certificate resolvers of a configuration.
type stores struct {
	resolvers map[string]*static.ACME
	opened    map[string]storage.Store // By the option storage.
	said      *lastWarning
}

// openStores opens the storages that the static configuration names, which connects to nothing.
func (p *process) openStores(given arguments) (*stores, error) {
	sources := static.Sources{Args: given.options, Environ: p.environ}
	loaded, findings := static.Load(sources)
	if loaded.Empty() && len(given.options) == 0 {
		return nil, fmt.Errorf("no configuration was found in %s; name a file with --configFile=FILE",
			strings.Join(static.SearchFolders(p.environ), ", "))
	}
	from := source{loaded: loaded, findings: findings}
	say(p.stderr, "configuration: %s\n", from.String())
	if static.HasErrors(findings) {
		printFindings(p.stderr, findings)
		return nil, errStatic
	}
	return newStores(loaded.Configuration)
}

func newStores(config *static.Configuration) (*stores, error) {
	s := &stores{resolvers: acmeResolvers(config), opened: map[string]storage.Store{}, said: &lastWarning{}}
	if len(s.resolvers) == 0 {
		return nil, errors.New("no certificate resolver uses ACME: there is no certificatesResolvers.NAME.acme")
	}
	for _, name := range s.names() {
		option := s.resolvers[name].Storage
		if s.opened[option] != nil {
			continue
		}
		store, err := open.Open(context.Background(), option, open.Options{Logger: s.said})
		if err != nil {
			return nil, fmt.Errorf("certificatesResolvers.%s.acme.storage: %w", name, err)
		}
		s.opened[option] = store
	}
	return s, nil
}

// names returns the names of the resolvers, in order.
func (s *stores) names() []string { return slices.Sorted(maps.Keys(s.resolvers)) }

// of returns the storage of a resolver.
func (s *stores) of(resolver string) storage.Store { return s.opened[s.resolvers[resolver].Storage] }

// shown returns the storage of a resolver for messages.
func (s *stores) shown(resolver string) string { return shownStorage(s.resolvers[resolver].Storage) }

func shownStorage(option string) string {
	if strings.Contains(option, "://") {
		return redact.URL(option)
	}
	return option
}

// read returns all values of the storages.
func (s *stores) read(ctx context.Context) (map[storage.Key][]byte, error) {
	all := map[storage.Key][]byte{}
	for _, option := range slices.Sorted(maps.Keys(s.opened)) {
		values, err := snapshot(ctx, s.opened[option])
		if err != nil {
			return nil, fmt.Errorf("storage %s: %w", shownStorage(option), s.said.explain(err))
		}
		for key, value := range values {
			// A storage may have what another configuration left of a resolver that uses another one.
			if config := s.resolvers[key.Resolver]; config != nil && config.Storage == option {
				all[key] = value
			}
		}
	}
	return all, nil
}

// snapshot returns the values of a storage, which has storageTimeout to answer.
func snapshot(ctx context.Context, from storage.Reader) (map[storage.Key][]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, storageTimeout)
	defer cancel()
	return storage.Snapshot(ctx, from)
}

// interruptible returns a context that SIGTERM and SIGINT end.
func interruptible() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
}

// lastWarning is a logger that keeps the last warning: storages overcome interruptions, and log them.
type lastWarning struct {
	telemetry.Discard
	mutex sync.Mutex
	text  string
}

// Warn keeps a message with its error.
func (l *lastWarning) Warn(message string, keysAndValues ...any) { l.Error(message, keysAndValues...) }

// Error keeps a message with its error.
func (l *lastWarning) Error(message string, keysAndValues ...any) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.text = message
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		if keysAndValues[i] == "error" {
			l.text = fmt.Sprintf("%s: %v", message, keysAndValues[i+1])
		}
	}
}

// explain adds the last warning to an error of a storage that has not answered in time.
func (l *lastWarning) explain(err error) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.text == "" || !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w (%s)", err, l.text)
}
