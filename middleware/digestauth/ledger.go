package digestauth

import (
	"sync"
	"time"
)

const (
	ledgerShards = 16
	// maxNonces is how many challenges a shard knows the use of.
	maxNonces = 4096
	// width is how far behind the highest count of a challenge another may come: browsers send requests on several connections at once.
	width = 256
)

// ledger knows which counts of which challenges have been used (RFC 7616 section 3.4, nc), so that no answer is accepted twice. A challenge
// is entered when it has been answered by a user, so that others can't fill it. When there are too many, the one that has been there the
// longest is forgotten, and with it everything about challenges that are as old: those that are not in the ledger then count as used.
type ledger struct{ shards [ledgerShards]page }

// page is one shard of a ledger.
type page struct {
	mutex sync.Mutex
	used  map[[idLength]byte]counted
	// order are the challenges in used, by when they were entered.
	order []nonce
	// forgotten is when the latest challenge was made of those that were forgotten, or 0. Those that were over count too: a request may have
	// looked at the clock before one was over, and come here after it was forgotten.
	forgotten time.Duration
}

// counted are the counts of one challenge that were used: seen has a bit for each of the last ones up to highest.
type counted struct {
	highest uint32
	seen    [width / 64]uint64
}

// use enters a count, and reports whether it can not have been used before.
func (l *ledger) use(n nonce, count uint32, now time.Duration) bool {
	page := &l.shards[n.id[idLength-1]%ledgerShards]
	page.mutex.Lock()
	defer page.mutex.Unlock()
	counts, known := page.used[n.id]
	if !known {
		if n.issued <= page.forgotten {
			return false
		}
		page.enter(n, now)
	}
	fresh := counts.take(count)
	page.used[n.id] = counts
	return fresh
}

// enter makes room for a challenge.
func (p *page) enter(n nonce, now time.Duration) {
	if p.used == nil {
		p.used = make(map[[idLength]byte]counted)
	}
	for len(p.order) > 0 {
		oldest := p.order[0]
		if now-oldest.issued <= lifetime && len(p.order) < maxNonces {
			break
		}
		p.forgotten = max(p.forgotten, oldest.issued)
		delete(p.used, oldest.id)
		p.order = p.order[1:]
	}
	p.order = append(p.order, n)
}

// take marks a count, and reports whether it was not marked and is not too far behind.
func (c *counted) take(count uint32) bool {
	if count > c.highest {
		if count-c.highest >= width {
			c.seen = [width / 64]uint64{}
		} else {
			for skipped := c.highest + 1; skipped < count; skipped++ {
				c.seen[skipped%width/64] &^= 1 << (skipped % 64)
			}
		}
		c.highest = count
	} else if c.highest-count >= width || c.seen[count%width/64]&(1<<(count%64)) != 0 {
		return false
	}
	c.seen[count%width/64] |= 1 << (count % 64)
	return true
}
