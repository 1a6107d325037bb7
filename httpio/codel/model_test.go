package codel_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/httpio/codel"
)

// model is what a queue should do, one event after another.
type model struct {
	options    codel.Options
	now        time.Duration
	free       int
	waiting    []waiting
	standing   time.Duration
	overloaded bool
	ended      []string
}

type waiting struct {
	name   string
	joined time.Duration
}

func (m *model) end(at int, how string) {
	m.ended = append(m.ended, m.waiting[at].name+" "+how)
	if how == "served" && m.now-m.waiting[at].joined <= m.options.Target {
		m.standing = m.now
	}
	m.waiting = slices.Delete(m.waiting, at, at+1)
	m.overloaded = m.overloaded && len(m.waiting) > 0
}

func (m *model) judge() {
	m.overloaded = len(m.waiting) > 0 && (m.overloaded || m.now-m.standing >= m.options.Interval)
}

// serve gives free places away.
func (m *model) serve() {
	for m.free > 0 && len(m.waiting) > 0 {
		m.free--
		if m.overloaded {
			m.end(len(m.waiting)-1, "served")
		} else {
			m.end(0, "served")
		}
	}
}

func (m *model) arrive(name string) {
	m.judge()
	if len(m.waiting) >= m.options.Limit {
		if !m.overloaded {
			m.ended = append(m.ended, name+" full")
			return
		}
		m.end(0, "dropped")
	}
	if len(m.waiting) == 0 {
		m.standing = m.now
	}
	m.waiting = append(m.waiting, waiting{name, m.now})
	m.serve()
}

func (m *model) give() {
	m.free++
	if len(m.waiting) == 0 {
		return
	}
	m.judge()
	for m.overloaded && len(m.waiting) > 4 && m.now-m.waiting[0].joined > m.options.Target {
		m.end(0, "dropped")
	}
	m.serve()
}

func (m *model) pass(d time.Duration) {
	m.now += d
	for len(m.waiting) > 0 && m.now-m.waiting[0].joined >= m.options.Longest {
		m.end(0, "late")
	}
}

// news returns the ends since the last call, sorted.
func (m *model) news() string {
	ended := m.ended
	m.ended = nil
	slices.Sort(ended)
	return strings.Join(ended, ", ")
}

// FuzzQueue compares a queue with the model: each byte is an event.
func FuzzQueue(f *testing.F) {
	f.Add([]byte("aaaagggg"))
	f.Add([]byte("aaaaaaaaaaaatttttttgaaaagtgggtaag"))
	f.Add([]byte("gagagatttaaaatttttttttttttttttttaaagagagagcccg"))
	f.Add([]byte("aaaaaaaaTgTgaTgaTaTaTcgaTgTgTgTTTgggggaag"))
	f.Fuzz(func(t *testing.T, events []byte) {
		synctest.Test(t, func(t *testing.T) { follow(t, events[:min(len(events), 300)]) })
	})
}

// follow has a queue and the model go through events: a request arrives, a place is given back, time passes, or the
// request that has waited for the longest time leaves.
func follow(t *testing.T, events []byte) {
	t.Helper()
	options := codel.Options{
		Limit: 8, Longest: time.Second, Interval: 100 * time.Millisecond, Target: 15 * time.Millisecond,
	}
	var p pool
	m := model{options: options}
	leave := map[string]context.CancelFunc{}
	for at, event := range events {
		switch event {
		case 'a':
			name := fmt.Sprint(at)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			leave[name] = cancel
			p.arrive(ctx, name, options)
			m.arrive(name)
		case 'g':
			p.free.Add(1)
			p.queue.Wake()
			m.give()
		case 'c':
			if len(m.waiting) > 0 {
				leave[m.waiting[0].name]()
				m.end(0, "context canceled")
			}
		default:
			step := 7 * time.Millisecond
			if event == 'T' {
				step = 70 * time.Millisecond
			}
			pass(step)
			m.pass(step)
		}
		if got, want := p.news(), m.news(); got != want {
			t.Fatalf("event %d of %q: %q, want %q", at, events, got, want)
		}
		if p.queue.Len() != len(m.waiting) || int(p.free.Load()) != m.free {
			t.Fatalf("event %d of %q: %d wait, want %d; %d places are free, want %d", at, events, p.queue.Len(),
				len(m.waiting), p.free.Load(), m.free)
		}
	}
	for range m.waiting {
		m.give()
		p.free.Add(1)
		p.queue.Wake()
		synctest.Wait()
	}
	p.news()
}
