package entrypoint

import (
	"hash/maphash"
	"net/http"
	"net/netip"
	"time"

	"github.com/sluiceproxy/sluice/httpio/bucket"
)

// rate limits how many connections or requests begin in a second. A nil rate is no limit.
type rate struct {
	start time.Time
	seed  maphash.Seed
	// total is of all clients together, clients of each; nil is no limit.
	total   *bucket.Bucket
	clients *bucket.Table
}

// newRate returns a rate of so many tokens a second, in total and for each client. Without a burst, buckets hold what
// comes in a second. It is nil if both rates are 0.
func newRate(total, perClient, burst int) *rate {
	if total <= 0 && perClient <= 0 {
		return nil
	}
	r := &rate{start: time.Now(), seed: maphash.MakeSeed()}
	if total > 0 {
		r.total = bucket.NewBucket(perSecond(total, burst))
	}
	if perClient > 0 {
		r.clients = bucket.NewTable(perSecond(perClient, burst))
	}
	return r
}

func perSecond(average, burst int) bucket.Rate {
	if burst <= 0 {
		burst = average
	}
	return bucket.NewRate(int64(average), time.Second, int64(burst))
}

// allows takes a token of all clients together.
func (r *rate) allows(now time.Time) bool {
	return r == nil || r.total == nil || r.total.Take(int64(now.Sub(r.start))).Allowed
}

// allowsClient takes a token of a client. One without an address, such as that of a Unix socket, is not limited.
func (r *rate) allowsClient(client netip.Addr, now time.Time) bool {
	if r == nil || r.clients == nil || !client.IsValid() {
		return true
	}
	key := maphash.Comparable(r.seed, clientKey(client).As16())
	return r.clients.Take(key, int64(now.Sub(r.start))).Allowed
}

// enter counts a new connection, or returns why it is refused. known says that its client is known, so that no PROXY
// header is waited for; otherwise pace follows the header.
func (e *Entrypoint) enter(c *connection, known bool) refusalReason {
	if !e.deps.Descriptors.Admits(c) {
		return reservedDescriptors
	}
	if known {
		if why := e.pace(c); why != admitted {
			return why
		}
	}
	if !e.open.add(c) {
		return maxConnections
	}
	return admitted
}

// pace takes the tokens of a new connection, or returns which rate refuses it. A client beyond its own rate takes no
// token of the others.
func (e *Entrypoint) pace(c *connection) refusalReason {
	switch {
	case !e.connectionRate.allowsClient(c.client, c.accepted):
		return connectionRatePerClient
	case !e.connectionRate.allows(c.accepted):
		return connectionRate
	}
	return admitted
}

// limited answers a request beyond the rates of the entrypoint.
func (c *chain) limited(v *requestState, w responseWriter, r *http.Request) bool {
	e, option := c.entrypoint, ""
	switch {
	case !e.requestRate.allowsClient(v.client, v.record.Start):
		option = "maxRequestRatePerClient"
	case !e.requestRate.allows(v.record.Start):
		option = "maxRequestRate"
	default:
		return false
	}
	v.record.Host, v.record.Path = r.Host, r.URL.EscapedPath()
	if v.connection != nil && v.connection.isOld(&e.settings) {
		w.CloseAfter()
	}
	w.Header().Set("Retry-After", "1") // A token comes at least once a second.
	v.refuse(w, http.StatusTooManyRequests, "transport.limits."+option+" is exceeded")
	return true
}
