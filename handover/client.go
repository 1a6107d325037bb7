package handover

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

// Client is the successor's end of a hand-over. It must be made by [Connect]. Its methods are called one at a time.
type Client struct {
	conn        *packetConn
	predecessor Process
	timeouts    timeouts
	inherited   *Inherited
	states      map[string]State
	// stopAlive ends the messages that say that the successor is loading, and alive waits for it.
	stopAlive context.CancelFunc
	alive     sync.WaitGroup
	// exchange is held while the predecessor may wait for a certain message, which none of those may precede.
	exchange sync.Mutex
}

// Connect gets the sockets and the state of the process that listens on a path, which goes on serving. release is the
// version of the own program, for the log of the other process. The error is ErrNoPredecessor where there is no such
// process, or where it ends meanwhile, and names the path otherwise: the other process refuses (RefusedError), is of
// another user, or does not answer within ten seconds, or another user may write into the directory. ctx bounds Connect
// alone.
func Connect(ctx context.Context, path, release string) (*Client, error) {
	return connect(ctx, path, release, defaultTimeouts())
}

func connect(ctx context.Context, path, release string, limits timeouts) (*Client, error) {
	if err := checkPlace(path); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%w on %s", ErrNoPredecessor, path)
		}
		return nil, fmt.Errorf("hand-over from %s: %w", path, err)
	}
	unix, of, err := dial(ctx, path, limits.answer)
	if errors.Is(err, ErrNoPredecessor) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("hand-over from %s: %w", path, err)
	}
	c := &Client{
		conn: newPacketConn(unix, limits.answer), predecessor: Process{PID: of.pid}, timeouts: limits,
		inherited: new(Inherited), states: map[string]State{}, stopAlive: func() {},
	}
	if err = admit(of.uid); err == nil {
		err = c.within(ctx, func() error { return c.begin(release) })
	}
	if err != nil {
		_ = c.Close()
		if errors.Is(err, errEnded) { // It does not listen any more.
			return nil, fmt.Errorf("%w on %s: %w", ErrNoPredecessor, path, err)
		}
		return nil, fmt.Errorf("hand-over from %s: %w", path, err)
	}
	alive, stop := context.WithCancel(context.Background())
	c.stopAlive = stop
	c.alive.Go(func() { c.sendAlive(alive) })
	return c, nil
}

// within calls f, and ends the connection when ctx ends meanwhile, whose cause is the error then.
func (c *Client) within(ctx context.Context, f func() error) error {
	stop := context.AfterFunc(ctx, func() { _ = c.conn.unix.Close() })
	err := f()
	if !stop() && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// begin gets the sockets and the state.
func (c *Client) begin(release string) error {
	answer := c.timeouts.answer
	if err := c.say(&message{Type: typeHello, Versions: []int{protocolVersion}, Release: release}); err != nil {
		return err
	}
	welcome, err := c.conn.expect(typeWelcome, answer)
	if err != nil {
		return err
	}
	if welcome.Version != protocolVersion {
		return fmt.Errorf("the other process has selected version %d of the protocol", welcome.Version)
	}
	c.predecessor.Release = welcome.Release
	if err := c.say(&message{Type: typeSockets}); err != nil {
		return err
	}
	if err := c.take(typeEnd, answer); err != nil {
		return err
	}
	if err := c.say(&message{Type: typeStates}); err != nil {
		return err
	}
	return c.take(typeEnd, answer)
}

// say sends a message. A predecessor that has closed the connection is no error: why it has is read next.
func (c *Client) say(m *message) error {
	if err := c.conn.send(m); !errors.Is(err, errEnded) {
		return err
	}
	return nil
}

// take receives sockets and states until a message that ends them.
func (c *Client) take(end messageType, within time.Duration) error {
	receiver := stateReceiver{states: c.states}
	for limit := time.Now().Add(within); ; {
		m, descriptors, err := c.conn.receive(time.Until(limit))
		if err != nil {
			return fmt.Errorf("waiting for %s: %w", end, err)
		}
		switch m.Type {
		case end:
			return receiver.end()
		case typeSockets:
			if err = c.inherited.add(m.Sockets, descriptors); err == nil {
				err = c.say(&message{Type: typeAck})
			}
		case typeState:
			closeDescriptors(descriptors)
			err = receiver.add(m.State)
		default:
			closeDescriptors(descriptors)
			err = fmt.Errorf("waiting for %s: a message of type %s came", end, m.Type)
		}
		if err != nil {
			return err
		}
	}
}

// sendAlive says that the successor is loading, until ctx ends or the predecessor has.
func (c *Client) sendAlive(ctx context.Context) {
	ticker := time.NewTicker(c.timeouts.alive)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			c.exchange.Lock()
			err := c.conn.send(&message{Type: typeAlive})
			c.exchange.Unlock()
			if err != nil {
				return // TakeOver finds out why.
			}
		}
	}
}

// Predecessor returns the process that serves until TakeOver.
func (c *Client) Predecessor() Process { return c.predecessor }

// Inherited returns the sockets. TakeOver adds those that the predecessor has opened since Connect, and connected ones.
func (c *Client) Inherited() *Inherited { return c.inherited }

// State returns a state of the predecessor, and false where it has sent none of the kind in one of the versions. There
// are final states after TakeOver, and none after Confirm.
func (c *Client) State(kind string, versions ...int) (State, bool) {
	state, ok := c.states[kind]
	if !ok || !slices.Contains(versions, state.Version) {
		return State{}, false
	}
	return state, true
}

// Announce gives a state of this process to Offer.Announced of the predecessor, between Connect and TakeOver, and
// returns when it has been taken. Its data has at most 32 KiB. A predecessor that does not know announced states
// ignores it. Sockets that the predecessor has opened meanwhile come as with TakeOver. The error may be that of ctx,
// ErrPredecessorEnded, or a RefusedError, after which the predecessor serves on. So it does without an answer within
// ten seconds.
func (c *Client) Announce(ctx context.Context, state State) error {
	if len(state.Data) > maxPartBytes {
		return fmt.Errorf("the state %s that is announced has more than %d bytes", state, maxPartBytes)
	}
	part := &statePart{Kind: state.Kind, Version: state.Version, Part: state.Data, Last: true}
	c.exchange.Lock()
	defer c.exchange.Unlock()
	err := c.within(ctx, func() error {
		if err := c.say(&message{Type: typeSockets, State: part}); err != nil {
			return err
		}
		return c.take(typeEnd, c.timeouts.answer)
	})
	if errors.Is(err, errEnded) {
		return ErrPredecessorEnded
	}
	return err
}

// TakeOver has the predecessor stop accepting and reading, which takes ten seconds at most. After nil, or after
// ErrPredecessorEnded, the caller serves. After another error, which ctx may have caused, the predecessor serves on and
// the caller must not serve.
func (c *Client) TakeOver(ctx context.Context) error {
	c.stopAlive()
	c.alive.Wait()
	err := c.within(ctx, func() error {
		if err := c.say(&message{Type: typeReady}); err != nil {
			return err
		}
		return c.take(typeYielded, c.timeouts.yield)
	})
	if errors.Is(err, errEnded) {
		return ErrPredecessorEnded
	}
	return err
}

// Confirm has the predecessor drain, after TakeOver has returned nil: the caller serves, and its own Server is
// published. A RefusedError means that the predecessor serves again, since ten seconds have passed, and that the caller
// must not. With nil, the caller is the one that serves, also when the predecessor has ended or has not answered within
// ten seconds. The sockets that were not used are closed.
func (c *Client) Confirm() error {
	defer func() { _ = c.Close() }()
	err := c.say(&message{Type: typeServing})
	if err == nil {
		_, err = c.conn.expect(typeBye, c.timeouts.answer)
	}
	if refused := new(RefusedError); errors.As(err, &refused) {
		return err
	}
	clear(c.states) // They hold secrets, and much memory.
	return nil
}

// Refused returns a RefusedError where the predecessor has gone on to serve since TakeOver, because ten seconds have
// passed. It does not wait.
func (c *Client) Refused() error {
	const moment = time.Millisecond // With no time at all, what has come is not read.
	_, err := c.conn.expect(typeBye, moment)
	if refused := new(RefusedError); errors.As(err, &refused) {
		return err
	}
	return nil
}

// Close ends the hand-over where it is not confirmed, in which case the predecessor serves on, and closes the sockets
// that were not used. It may be called again.
func (c *Client) Close() error {
	c.stopAlive()
	err := c.conn.unix.Close()
	c.alive.Wait()
	c.inherited.CloseUnused()
	return err
}
