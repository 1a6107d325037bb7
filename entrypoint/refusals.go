package entrypoint

import (
	"time"

	"github.com/sluiceproxy/sluice/httpio/descriptors"
)

// Refusals counts connections that are refused because of a limit. Its method must not block.
type Refusals interface {
	// Refused counts one by the reason: max_connections, max_connections_per_client, connection_rate,
	// connection_rate_per_client, descriptors, handshakes, handshake_rate, handshake_rate_per_client or overload.
	Refused(reason string)
}

// refusalReason is why a connection is refused. As an error it names the option.
type refusalReason uint8

const (
	// admitted connections are not refused.
	admitted refusalReason = iota
	maxConnections
	maxConnectionsPerClient
	connectionRate
	connectionRatePerClient
	reservedDescriptors
	maxHandshakes
	handshakeRate
	handshakeRatePerClient
	overloaded
	refusals
)

// reason returns the value of the label reason.
func (r refusalReason) reason() string {
	return [refusals]string{
		"", "max_connections", "max_connections_per_client", "connection_rate", "connection_rate_per_client",
		"descriptors", "handshakes", "handshake_rate", "handshake_rate_per_client", "overload",
	}[r]
}

// Error names the option whose limit is reached.
func (r refusalReason) Error() string {
	return [refusals]string{
		"", "transport.limits.maxConnections is reached", "transport.limits.maxConnectionsPerClient is reached",
		"transport.limits.maxConnectionRate is exceeded", "transport.limits.maxConnectionRatePerClient is exceeded",
		descriptors.ErrReserved.Error(), "transport.limits.maxHandshakes is reached",
		"transport.limits.maxHandshakeRate is exceeded", "transport.limits.maxHandshakeRatePerClient is exceeded",
		"overload.actions.stopAccepting is reached",
	}[r]
}

// refuseConnection counts and reports a connection that is refused.
func (e *Entrypoint) refuseConnection(why refusalReason, client string) {
	if e.deps.Refusals != nil {
		e.deps.Refusals.Refused(why.reason())
	}
	e.refusedFor[why].Add(1)
	e.report(report{refusal: why, client: client})
}

// refusalInterval is the time between two lines of the log about one reason.
const refusalInterval = time.Minute

// refusalLog writes the first refusal for a reason at once, and those that follow as one line a minute with their
// number. One goroutine uses it.
type refusalLog struct {
	entrypoint *Entrypoint
	// due is when the next line may be written, and written how many refusals are in the lines so far.
	due     [refusals]time.Time
	written [refusals]uint64
	// client is the last one.
	client [refusals]string
	timer  *time.Timer
}

func newRefusalLog(e *Entrypoint) *refusalLog {
	l := &refusalLog{entrypoint: e, timer: time.NewTimer(refusalInterval)}
	l.timer.Stop()
	return l
}

// note takes one refusal. More may have been counted, because reports are dropped when too many come.
func (l *refusalLog) note(why refusalReason, client string) {
	l.client[why] = client
	l.write(false)
}

// write writes the lines that are due, or all, and has the timer fire when the next one is.
func (l *refusalLog) write(all bool) {
	now, next := time.Now(), time.Duration(0)
	for why := admitted + 1; why < refusals; why++ {
		count := l.entrypoint.refusedFor[why].Load() - l.written[why]
		wait := l.due[why].Sub(now)
		if count > 0 && (all || wait <= 0) {
			l.written[why] += count
			l.due[why], wait = now.Add(refusalInterval), refusalInterval
			l.entrypoint.deps.Logger.Warn("connections refused: "+why.Error(), "entrypoint", l.entrypoint.name,
				"reason", why.reason(), "count", count, "client", l.client[why])
		}
		if wait > 0 && (next == 0 || wait < next) {
			next = wait
		}
	}
	if next > 0 {
		l.timer.Reset(next)
	}
}
