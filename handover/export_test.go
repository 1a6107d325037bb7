package handover

import (
	"context"
	"time"
)

// Limits are time-outs of a test, each of which is that of the package where it is 0.
type Limits struct{ Answer, Alive, Silence, Loading, Yield, Confirm time.Duration }

func (l Limits) timeouts() timeouts {
	t := defaultTimeouts()
	for _, limit := range []struct {
		of    *time.Duration
		value time.Duration
	}{
		{&t.answer, l.Answer},
		{&t.alive, l.Alive},
		{&t.silence, l.Silence},
		{&t.loading, l.Loading},
		{&t.yield, l.Yield},
		{&t.confirm, l.Confirm},
	} {
		if limit.value > 0 {
			*limit.of = limit.value
		}
	}
	return t
}

// Limit sets the time-outs of a server that does not serve yet.
func (s *Server) Limit(l Limits) { s.timeouts = l.timeouts() }

// ConnectWithin is Connect with other time-outs.
func ConnectWithin(ctx context.Context, path, release string, l Limits) (*Client, error) {
	return connect(ctx, path, release, l.timeouts())
}

// Reencode returns a packet as it is written after it was read.
func Reencode(packet []byte) ([]byte, error) {
	m, err := parse(packet)
	if err != nil {
		return nil, err
	}
	return m.encode()
}
