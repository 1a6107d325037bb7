package entrypoint_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/static"
)

// TestPacketsHandedOver ends sessions at once, since their datagrams reach the socket of the successor.
func TestPacketsHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &phases{}
		e := newPackets(t, packetConfig(func(c *static.EntryPoint) {
			c.Transport.LifeCycle.RequestAcceptGraceTimeout = static.Duration(2 * time.Second)
			c.Transport.LifeCycle.GraceTimeOut = static.Duration(5 * time.Second)
		}), server)
		if err := e.Listen(context.Background()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(entrypoint.HandedOver{Drain: time.Hour})
		if err := e.Serve(ctx); err != nil {
			t.Error(err)
		}
		if server.drained != 0 || server.cut != 0 {
			t.Errorf("drained for %v, cut after %v", server.drained, server.cut)
		}
	})
}

// parking is a server of packets whose sessions go on in another process.
type parking struct {
	phases

	calls []string
	err   error
}

func (p *parking) Park(context.Context) error {
	p.calls = append(p.calls, "park")
	return p.err
}

func (p *parking) Unpark() { p.calls = append(p.calls, "unpark") }

func (p *parking) Leave() { p.calls = append(p.calls, "leave") }

// TestParkPackets has the server stop reading. A server without sessions cannot.
func TestParkPackets(t *testing.T) {
	server := &parking{}
	e := newPackets(t, packetConfig(nil), server)
	if err := e.Park(t.Context()); err != nil {
		t.Error(err)
	}
	e.Unpark()
	server.err = errors.New("it is busy")
	if err := e.Park(t.Context()); !errors.Is(err, server.err) || !strings.HasPrefix(err.Error(), `entrypoint "dns"`) {
		t.Errorf("got %v", err)
	}
	e.Leave()
	if got := strings.Join(server.calls, " "); got != "park unpark park leave" {
		t.Errorf("calls %s", got)
	}
	if e.Server() != entrypoint.PacketServer(server) {
		t.Error("another server")
	}
	other := newPackets(t, packetConfig(nil), &phases{})
	if err := other.Park(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
	other.Unpark()
	other.Leave()
}
