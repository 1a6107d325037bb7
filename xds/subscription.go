package xds

import (
	"maps"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// keptMarks is for how many marks a subscription keeps memory.
const keptMarks = 64

// subscription is one type of a stream. The lock of the view guards it.
type subscription struct {
	stream     *stream
	collection *collection

	// names are the subscribed names in the order of the request, and nameBytes is their size.
	names     []*record
	nameBytes int
	// wildcard is set while all resources are subscribed, beside names. It is implied until the client names one.
	wildcard, implied bool

	// forgone are the names that a request has left out which does not count, forgoneAll is set for all resources.
	forgone    map[*record]struct{}
	forgoneAll bool

	// marked are the resources that have changed since they were sent, and those that were not sent yet.
	marked map[*record]struct{}
	// unanswered is set while the client waits for a response, also for an empty one.
	unanswered bool
	// requests is set while a request for names has not been answered.
	requests bool
	// awaits is set from a response until the client has answered it: there is no other response until then.
	awaits bool

	sent  string // version
	nonce string
	// refused is the nonce of the last response that the client has rejected.
	refused string
	acked   string
	sentAt  time.Time
	ackedAt time.Time
	notice  time.Time // of the change that was sent and is not acknowledged yet
	// rejected is the last rejection, until the client accepts a response.
	rejected *Rejection
}

// Rejection is a response that a client has not accepted (NACK).
type Rejection struct {
	// Version is the version of the response.
	Version string `json:"version"`
	// Message is the client's error message.
	Message string `json:"message"`
	// Time is when it was received.
	Time time.Time `json:"time"`
}

// tooManyNames returns the error that ends the stream of a client with too many names.
func tooManyNames() error { return status.Error(codes.ResourceExhausted, "too many names of one type") }

// due reports whether there is something to send.
func (s *subscription) due() bool { return !s.awaits && (s.unanswered || len(s.marked) > 0) }

// mark notes a resource that is to be sent.
func (s *subscription) mark(one *record) {
	if s.marked == nil {
		s.marked = map[*record]struct{}{}
	}
	s.marked[one] = struct{}{}
}

// unmark notes that everything was sent.
func (s *subscription) unmark() {
	if len(s.marked) > keptMarks {
		s.marked = nil // A map that was large stays large.
	}
	clear(s.marked)
}

// covers reports whether a resource is subscribed.
func (s *subscription) covers(one *record) bool {
	if s.wildcard {
		return true
	}
	_, ok := one.subscribers[s]
	return ok
}

// setNames takes the names of a state-of-the-world request, which are all names of the type.
func (s *subscription) setNames(names []string) error {
	defer s.resume()
	if s.named(names) {
		return nil // An acknowledgement repeats the names.
	}
	if len(names) > maxNames {
		return tooManyNames()
	}
	if s.implied = s.implied && len(names) == 0; s.implied {
		s.setWildcard(true)
		return nil
	}
	before, absent := s.names, false
	s.names = make([]*record, 0, len(names))
	kept, all := make(map[*record]struct{}, len(names)), false
	for _, name := range names {
		if name == wildcard {
			all = true
			continue
		}
		one := s.collection.record(name)
		if _, again := kept[one]; again {
			continue
		}
		kept[one] = struct{}{}
		s.names = append(s.names, one)
		absent = s.add(one) || absent
	}
	for _, one := range before {
		if _, ok := kept[one]; !ok {
			s.leave(one)
		}
	}
	s.setWildcard(all)
	if absent {
		return s.collection.absent.check()
	}
	return nil
}

// named reports whether the names are those of the subscription, in the same order.
func (s *subscription) named(names []string) bool {
	return !s.implied && !s.wildcard && slices.EqualFunc(s.names, names, func(one *record, name string) bool {
		return one.name == name
	})
}

// forgo takes the names of a request that does not count, since it answers an earlier response than the last one. The
// client has dropped the resources of the names that it leaves out.
func (s *subscription) forgo(names []string) {
	if s.named(names) || s.implied && len(names) == 0 {
		return
	}
	given := setOf(names)
	s.forgoneAll = s.forgoneAll || s.wildcard && !given[wildcard]
	for _, one := range s.names {
		if given[one.name] {
			continue
		}
		if s.forgone == nil {
			s.forgone = map[*record]struct{}{}
		}
		s.forgone[one] = struct{}{}
	}
}

// resume has the resources sent again that the client has dropped and that are subscribed all the same: it has named
// them again.
func (s *subscription) resume() {
	again := s.forgoneAll && s.wildcard
	if again {
		s.markAll()
	}
	for one := range s.forgone {
		if s.covers(one) {
			s.mark(one)
			again = true
		}
	}
	if again {
		s.requests = true
		s.unanswered = s.unanswered || s.collection.kind.sentInFull()
	}
	s.forgone, s.forgoneAll = nil, false
}

// markAll notes all resources.
func (s *subscription) markAll() {
	for _, one := range s.collection.records {
		if one.content != nil {
			s.mark(one)
		}
	}
}

// add subscribes to a name, and reports whether that is a new one that does not exist. A type that is sent in full gets
// a response also then.
func (s *subscription) add(one *record) (absent bool) {
	if _, known := one.subscribers[s]; known {
		return false
	}
	absent = one.content == nil && len(one.subscribers) == 0
	if one.subscribers == nil {
		one.subscribers = map[*subscription]struct{}{}
	}
	one.subscribers[s] = struct{}{}
	s.requests = true
	s.mark(one)
	if s.collection.kind.sentInFull() {
		s.unanswered = true
	}
	return absent
}

// leave ends the subscription to a name.
func (s *subscription) leave(one *record) {
	delete(one.subscribers, s)
	if !s.wildcard {
		delete(s.marked, one)
	}
	s.collection.drop(one)
}

// setWildcard begins or ends the subscription to all resources. What waits to be sent at its end is sent only if it is
// subscribed by name.
func (s *subscription) setWildcard(all bool) {
	switch {
	case all && !s.wildcard:
		s.requests = true
		s.collection.wildcards[s] = struct{}{}
		s.markAll()
	case !all && s.wildcard:
		delete(s.collection.wildcards, s)
		maps.DeleteFunc(s.marked, func(one *record, _ struct{}) bool {
			_, named := one.subscribers[s]
			return !named
		})
	}
	s.wildcard = all
}

// changeNames takes the names of an incremental request. A name that is subscribed again is sent again, and so is one
// that is unsubscribed while all resources are: the client has to know whether the resource exists.
func (s *subscription) changeNames(added, removed []string) error {
	if s.implied && len(added) == 0 {
		s.setWildcard(true)
	} else {
		s.implied = false
	}
	absent := false
	for _, name := range added {
		if name == wildcard {
			s.setWildcard(true)
			continue
		}
		one := s.collection.record(name)
		if _, again := one.subscribers[s]; !again {
			s.names = append(s.names, one)
			s.nameBytes += len(name)
			absent = s.add(one) || absent
		}
		s.mark(one)
	}
	if s.nameBytes > maxNameBytes || len(s.names) > maxNames {
		return tooManyNames()
	}
	if absent {
		if err := s.collection.absent.check(); err != nil {
			return err
		}
	}
	left := map[*record]struct{}{}
	for _, name := range removed {
		if name == wildcard {
			s.setWildcard(false)
		} else if one := s.collection.records[name]; one != nil && s.covers(one) {
			left[one] = struct{}{}
		}
	}
	if len(left) > 0 {
		s.leaveAll(left)
	}
	if len(s.marked) > len(s.collection.records)+maxNames {
		return tooManyNames() // Names that it gave up while it acknowledges nothing.
	}
	return nil
}

// leaveAll ends the subscriptions to names of an incremental stream.
func (s *subscription) leaveAll(left map[*record]struct{}) {
	s.names = slices.DeleteFunc(s.names, func(one *record) bool {
		if _, ok := left[one]; !ok {
			return false
		}
		s.nameBytes -= len(one.name)
		s.leave(one)
		return true
	})
	if s.wildcard {
		for one := range left {
			s.mark(one)
		}
	}
}

// known takes the versions of the resources that an incremental client has from an earlier stream: what is the same is
// not sent, and what does not exist any more is removed.
func (s *subscription) known(versions map[string]string) {
	for name, version := range versions {
		one := s.collection.records[name]
		switch {
		case one != nil && one.content != nil:
			if one.contentVersion() == version {
				delete(s.marked, one)
			}
		case s.wildcard:
			s.mark(&record{name: name})
		}
	}
}

// end ends all subscriptions.
func (s *subscription) end() {
	s.setWildcard(false)
	for _, one := range s.names {
		s.leave(one)
	}
	s.names = nil
}

// listed returns the names of the subscription in order; * is all.
func (s *subscription) listed() []string {
	names := make([]string, 0, len(s.names)+1)
	for _, one := range s.names {
		names = append(names, one.name)
	}
	if s.wildcard {
		names = append(names, wildcard)
	}
	slices.Sort(names)
	return names
}
