package adaptivelifo_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/httpio/adaptivelifo"
)

// model is what a queue should do, one event after another.
type model struct {
	now     time.Duration
	free    int
	waiting []waiting
	ended   []string

	overloaded       bool
	began, lostLast  time.Duration
	served, lost     int
	shortest         time.Duration
	limit            int
	longest          time.Duration
	interval, target time.Duration
}

type waiting struct {
	name   string
	joined time.Duration
}

func (m *model) end(at int, how string) {
	m.ended = append(m.ended, m.waiting[at].name+" "+how)
	if wait := m.now - m.waiting[at].joined; how != "served" {
		m.lose()
	} else {
		if m.served == 0 || wait < m.shortest {
			m.shortest = wait
		}
		m.served++
	}
	m.waiting = slices.Delete(m.waiting, at, at+1)
}

func (m *model) lose() {
	m.lost++
	m.lostLast = m.now
	if m.overloaded {
		m.served = 0
	}
}

func (m *model) begin() { m.began, m.served, m.lost, m.shortest = m.now, 0, 0, 0 }

func (m *model) judge() {
	calm := m.now-m.lostLast >= m.interval
	switch {
	case m.overloaded && calm && m.served >= 10:
		m.overloaded = false
		m.begin()
	case !m.overloaded && m.now-m.began >= m.interval && m.served+m.lost >= 10:
		m.overloaded = m.served > 0 && m.shortest > m.target && 10*m.lost >= m.served+m.lost
		m.begin()
	}
}

// serve gives free places away.
func (m *model) serve() {
	for m.free > 0 && len(m.waiting) > 0 {
		m.free--
		at := 0
		if m.overloaded {
			at = len(m.waiting) - 1
		}
		m.end(at, "served")
		m.judge()
	}
}

func (m *model) arrive(name string) {
	if len(m.waiting) == 0 {
		m.begin()
		m.overloaded = m.overloaded && m.now-m.lostLast < m.interval
	}
	if len(m.waiting) >= m.limit {
		if !m.overloaded {
			m.lose()
			m.ended = append(m.ended, name+" full")
			return
		}
		m.end(0, "dropped")
	}
	m.waiting = append(m.waiting, waiting{name, m.now})
	m.serve()
}

func (m *model) give() {
	m.free++
	if len(m.waiting) == 0 {
		return
	}
	for m.overloaded && len(m.waiting) > 4 && m.now-m.waiting[0].joined > m.interval {
		m.end(0, "dropped")
	}
	m.judge()
	m.serve()
}

func (m *model) pass(d time.Duration) {
	then := m.now + d
	for len(m.waiting) > 0 && then-m.waiting[0].joined >= m.longest {
		m.now = m.waiting[0].joined + m.longest
		m.end(0, "late")
		m.judge()
	}
	m.now = then
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
	f.Add([]byte("aaaaaaaaTaagaagaaagaaagTgaaaagaaaagaaagTTgaagaagaagaaTgagagagagagagagagagaggggggggTTTaaaaTgggg"))
	f.Add([]byte("aaaaaaaaTgaxgaxgaxgaxgaxgaxgaxgaxTgaxgaxTgTgaagTgaagTgaagTTTTTTTTaaagg"))
	f.Fuzz(func(t *testing.T, events []byte) {
		synctest.Test(t, func(t *testing.T) { follow(t, events[:min(len(events), 300)]) })
	})
}

// follow has a queue and the model go through events: a request arrives, a place is given back, time passes, the client
// of a request that was served leaves, or that of the one that has waited for the longest time.
func follow(t *testing.T, events []byte) {
	t.Helper()
	options := adaptivelifo.Options{Limit: 8, Longest: 400 * time.Millisecond}
	var p pool
	m := model{
		limit: 8, longest: 400 * time.Millisecond, interval: 100 * time.Millisecond, target: 4 * time.Millisecond,
		now: time.Hour, // No request was lost shortly before.
	}
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
				m.judge()
			}
		case 'x':
			p.queue.Abandoned()
			if !m.overloaded {
				m.lose()
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
