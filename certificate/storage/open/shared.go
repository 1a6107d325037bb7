package open

import (
	"context"
	"sync"

	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Stores opens each storage of a process once, so that those who use the same one are elected together.
type Stores struct {
	open  func(option string, logger telemetry.Logger) (storage.Store, error)
	mutex sync.Mutex
	known map[string]*shared
}

// NewStores returns Stores that open storages by a function such as Open.
func NewStores(open func(option string, logger telemetry.Logger) (storage.Store, error)) *Stores {
	return &Stores{open: open, known: map[string]*shared{}}
}

// Open returns the storage of an option. All that get it from here are the leader at the same time: Lead returns when
// its ctx has ended, and another replica may lead when the last one has returned.
func (s *Stores) Open(option string, logger telemetry.Logger) (storage.Store, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if known := s.known[option]; known != nil {
		return known, nil
	}
	store, err := s.open(option, logger)
	if err != nil {
		return nil, err
	}
	s.known[option] = &shared{Store: store, changed: make(chan struct{})}
	return s.known[option], nil
}

// shared is a storage with one candidate for leadership on behalf of several.
type shared struct {
	storage.Store

	mutex      sync.Mutex
	candidates int
	// resign ends the candidacy, and resigned is closed when it has ended; nil without one.
	resign   context.CancelFunc
	resigned chan struct{}
	// err is why the last candidacy has failed.
	err error
	// term is the present term of leadership, or nil; changed is closed when term or resigned changes.
	term    context.Context
	leading *sync.WaitGroup
	changed chan struct{}
}

// Lead implements storage.Elector.
func (s *shared) Lead(ctx context.Context, lead func(context.Context)) error {
	s.enter()
	defer s.leave()
	var last context.Context
	for {
		s.mutex.Lock()
		term, leading, changed, resigned := s.term, s.leading, s.changed, s.resigned
		if term != nil && term != last {
			leading.Add(1)
		}
		s.mutex.Unlock()
		if term != nil && term != last {
			last = term
			run(ctx, term, lead)
			leading.Done()
			continue
		}
		select {
		case <-ctx.Done():
			return nil
		case <-resigned:
			return s.failure()
		case <-changed:
		}
	}
}

// run calls lead with a context that ends with the term and with ctx.
func run(ctx, term context.Context, lead func(context.Context)) {
	both, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(term, cancel)()
	lead(both)
}

func (s *shared) failure() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.err
}

// enter adds a candidate. The first one stands for election.
func (s *shared) enter() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.candidates++
	if s.resign != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	s.resign, s.resigned, s.err = cancel, done, nil
	go func() {
		err := s.Store.Lead(ctx, s.serve)
		cancel()
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.resign, s.err = nil, err
		close(done)
	}()
}

// leave removes a candidate. The last one waits until another replica may lead.
func (s *shared) leave() {
	s.mutex.Lock()
	s.candidates--
	resign, resigned := s.resign, s.resigned
	last := s.candidates == 0
	s.mutex.Unlock()
	if last && resign != nil {
		resign()
		<-resigned
	}
}

// serve is one term of leadership: it returns when the term has ended and all candidates have noticed.
func (s *shared) serve(term context.Context) {
	leading := new(sync.WaitGroup)
	announce := func(present context.Context) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.term, s.leading = present, leading
		close(s.changed)
		s.changed = make(chan struct{})
	}
	announce(term)
	<-term.Done()
	var none context.Context
	announce(none)
	leading.Wait()
}
