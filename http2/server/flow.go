package server

import (
	"cmp"
	"slices"

	"github.com/sluiceproxy/sluice/http2/wire"
)

// sendBody hands over a part of the body, as the windows and the room admit it. last says that it is the end of the
// stream. The mutex is held, but for waits.
func (x *exchange) sendBody(p []byte, last bool) error {
	q := &x.conn.out
	x.unsent, x.unsentLast = p, last
	for q.move(x) {
	}
	for len(x.unsent) > 0 && x.failure == nil {
		q.start()
		q.await(x)
	}
	x.unsent = nil
	return x.failure
}

// move appends a frame of what an exchange has to send, and reports whether it could.
func (q *outQueue) move(x *exchange) bool {
	c := q.conn
	n := int(min(int64(min(len(x.unsent), c.maxFrame, q.free())), x.sendWindow, c.sendWindow))
	if n <= 0 || x.failure != nil {
		return false
	}
	var flags wire.Flags
	if x.unsentLast && n == len(x.unsent) {
		flags = wire.EndStream
	}
	b := wire.AppendHeader(q.room(), n, wire.Data, flags, x.id)
	q.set(append(b, x.unsent[:n]...))
	x.unsent = x.unsent[n:]
	x.sendWindow -= int64(n)
	c.sendWindow -= int64(n)
	x.response.delivered += int64(n)
	c.life.answered++
	return true
}

// await waits until something has changed for the exchange.
func (q *outQueue) await(x *exchange) {
	q.waiters = append(q.waiters, x)
	x.sendable.Wait()
	if at := slices.Index(q.waiters, x); at >= 0 {
		q.waiters = slices.Delete(q.waiters, at, at+1)
	}
}

// wake sends for those that wait, in the order of RFC 9218, section 10: by urgency, and of one urgency first the
// responses that are not incremental, one after the other, and then the others frame by frame. Who has nothing more to
// send goes on.
func (q *outQueue) wake() {
	if len(q.waiters) > 1 {
		slices.SortStableFunc(q.waiters, func(a, b *exchange) int {
			return cmp.Or(cmp.Compare(a.priority.rank(), b.priority.rank()), cmp.Compare(a.id, b.id))
		})
	}
	for at := 0; at < len(q.waiters); {
		end := at + 1
		if first := q.waiters[at].priority; first.incremental {
			for end < len(q.waiters) && q.waiters[end].priority == first {
				end++
			}
		}
		q.sendInTurn(q.waiters[at:end])
		at = end
	}
	for _, x := range q.waiters {
		if len(x.unsent) == 0 {
			x.sendable.Signal()
		}
	}
}

// sendInTurn sends a frame of each exchange after the other, until none can send more.
func (q *outQueue) sendInTurn(group []*exchange) {
	for more := true; more; {
		more = false
		for _, x := range group {
			if q.move(x) {
				more = true
			}
		}
	}
}

// rank orders responses.
func (p priority) rank() int {
	rank := 2 * int(p.urgency)
	if p.incremental {
		rank++
	}
	return rank
}
