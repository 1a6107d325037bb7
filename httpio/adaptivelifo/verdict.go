package adaptivelifo

import "time"

const (
	// intervalPart and targetPart are the parts of the longest wait that are the interval and the target.
	intervalPart = 4
	targetPart   = 100
	// lostPart is the part of the requests that is lost at least in an interval of overload.
	lostPart = 10
	// leastRequests is the least number of requests by which an interval is judged; it is longer with fewer.
	leastRequests = 10
	// backlog is how many requests are not dropped, however long they have waited, so that places do not stay free.
	backlog = 4
)

// verdict says whether a queue is overloaded. It is guarded by the queue.
type verdict struct {
	interval, target time.Duration
	overloaded       bool
	// began is when the interval that is judged began, or the queue was empty last. In it, requests were served that had
	// waited for at least shortest, and lost. In overload served counts those since lostLast, when one was lost last.
	began    time.Time
	served   int
	lost     int
	shortest time.Duration
	lostLast time.Time
}

// fill notes that a request joins an empty queue.
func (v *verdict) fill(now time.Time) {
	v.begin(now)
	v.overloaded = v.overloaded && now.Sub(v.lostLast) < v.interval
}

func (v *verdict) begin(now time.Time) { v.began, v.served, v.lost, v.shortest = now, 0, 0, 0 }

// serve notes that a request got a place.
func (v *verdict) serve(wait time.Duration) {
	if v.served == 0 || wait < v.shortest {
		v.shortest = wait
	}
	v.served++
}

// lose notes that a request was lost.
func (v *verdict) lose(now time.Time) {
	v.lost++
	v.lostLast = now
	if v.overloaded {
		v.served = 0
	}
}

// abandon notes that the client of a served request has left. In overload that is not because of the wait.
func (v *verdict) abandon(now time.Time) {
	if !v.overloaded {
		v.lose(now)
	}
}

// judge begins or ends overload. It is called after old requests have been dropped.
func (v *verdict) judge(now time.Time) {
	if v.overloaded {
		if now.Sub(v.lostLast) >= v.interval && v.served >= leastRequests {
			v.overloaded = false
			v.begin(now)
		}
		return
	}
	if now.Sub(v.began) < v.interval || v.served+v.lost < leastRequests {
		return
	}
	v.overloaded = v.served > 0 && v.shortest > v.target && v.lost*lostPart >= v.served+v.lost
	v.begin(now)
}
