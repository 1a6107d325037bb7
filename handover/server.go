package handover

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Source is what a process hands over. Its methods must be safe for concurrent use.
type Source interface {
	// Sockets returns all sockets that are bound now. After Yield it may have further ones, such as those of sessions.
	Sockets() []Socket
	// States calls yield with each state until it returns false. They are those that a successor needs when it starts.
	States(yield func(State) bool)
	// FinalStates is States for those that change for as long as the process serves. It is called after Yield.
	FinalStates(yield func(State) bool)
}

// Service is the process that hands over. Its methods are called one at a time.
type Service interface {
	// Yield stops accepting clients and reading datagrams, and returns when nothing is accepted or read any more. All
	// sockets stay open. It returns the error of ctx when that ends before; Resume follows each error.
	Yield(ctx context.Context, successor Process) error
	// Resume goes on where Yield has stopped: the successor does not serve.
	Resume()
	// Leave is called when the successor serves. It has the process drain, and must not wait for the end of that.
	Leave(successor Process)
}

// Upgrader starts successors.
type Upgrader interface {
	// Start starts the program again, in its present version.
	Start() (Child, error)
}

// Child is a process that was started as successor.
type Child interface {
	// PID returns its number.
	PID() int
	// Ended returns a channel with room for one value, which gets why the process has ended when it has; never nil.
	Ended() <-chan error
	// Kill ends the process at once.
	Kill()
}

// Offer is what a Server hands over, and what its events go to. Source and Service are required.
type Offer struct {
	Source  Source
	Service Service
	// Upgrader starts a successor at the request of Upgrade; nil refuses such requests.
	Upgrader Upgrader
	// Release is the version of the program, for the log of the successor.
	Release string
	// Announced gets each state of Client.Announce, before the successor goes on; an error ends the hand-over. When a
	// hand-over has failed in which there was one, it gets the zero State, and its error is ignored. Kinds and versions
	// that are not known are to be ignored. It may be nil, and is called by one goroutine at a time.
	Announced func(state State) error
	// Failed gets the reason of each hand-over that was refused or has failed; it may be nil. It must be safe for
	// concurrent use.
	Failed func(err error)
}

// Server hands over the sockets of a process. It must be made by [Listen].
type Server struct {
	path, temporary string
	listener        *net.UnixListener
	// file is the socket in the file system, under all its names.
	file     os.FileInfo
	timeouts timeouts

	// files is held while the names of file change, and during a take-over.
	files   sync.Mutex
	retired bool

	// left is closed when a successor serves.
	left chan struct{}

	mutex sync.Mutex
	// giving is whether a hand-over is under way, and upgrading whether Upgrade has started a successor that does not
	// serve yet.
	giving, upgrading bool
	// given is closed at the end of the hand-over that is under way, or was last.
	given chan struct{}
}

// Listen binds a socket that belongs to a path, but is not visible there before Publish. The directory must exist,
// belong to the user of the process, and be writable for no other. The error names the path.
func Listen(path string) (*Server, error) {
	s := &Server{
		path: path, timeouts: defaultTimeouts(), left: make(chan struct{}),
		// The longest path with the largest PID, 4194304, has 107 bytes, as a Unix address may.
		temporary: path + "." + strconv.FormatInt(int64(os.Getpid()), 16),
	}
	if err := s.bind(); err != nil {
		return nil, fmt.Errorf("socket for hand-over %s: %w", path, err)
	}
	return s, nil
}

// bind binds the temporary name.
func (s *Server) bind() error {
	if err := checkPlace(s.path); err != nil {
		return err
	}
	address := &net.UnixAddr{Name: s.temporary, Net: network}
	listener, err := net.ListenUnix(network, address)
	if errors.Is(err, syscall.EADDRINUSE) {
		// A process that has ended had the same PID.
		unix, _, failed := dial(context.Background(), s.temporary, s.timeouts.answer)
		if failed == nil {
			_ = unix.Close()
		}
		if !errors.Is(failed, ErrNoPredecessor) {
			return err
		}
		if err := os.Remove(s.temporary); err != nil {
			return err
		}
		listener, err = net.ListenUnix(network, address)
	}
	if err != nil {
		return err
	}
	listener.SetUnlinkOnClose(false) // The file may be that of a successor then.
	if err = os.Chmod(s.temporary, 0o600); err == nil {
		s.file, err = os.Lstat(s.temporary)
	}
	if err != nil {
		return errors.Join(err, listener.Close(), os.Remove(s.temporary))
	}
	s.listener = listener
	return nil
}

// Publish makes the socket visible at the path, in the place of that of a predecessor. The error names both.
func (s *Server) Publish() error {
	if err := checkPlace(s.path); err != nil {
		return fmt.Errorf("socket for hand-over %s: %w", s.path, err)
	}
	return os.Rename(s.temporary, s.path)
}

// Close closes the socket of a server whose Serve has returned or was not called. In the latter case the file at the
// path stays, for the predecessor to replace it.
func (s *Server) Close() error {
	s.files.Lock()
	defer s.files.Unlock()
	if s.owns(s.temporary) {
		_ = os.Remove(s.temporary)
	}
	if err := s.listener.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// Serve hands over to one successor, and returns nil when that serves or when ctx has ended. The socket is closed then,
// and its file removed unless it is the successor's: a process that starts later finds no predecessor. When ctx ends, a
// successor that is still loading is left alone, as after the end of the process; one that has taken over is waited
// for. The error is that of a listener that was closed. Serve is called once.
func (s *Server) Serve(ctx context.Context, offer Offer) error {
	if offer.Failed == nil {
		offer.Failed = func(error) {}
	}
	serving, end := context.WithCancel(ctx)
	connected, disconnect := context.WithCancel(context.WithoutCancel(ctx))
	var work sync.WaitGroup
	defer work.Wait()
	defer end()
	work.Go(func() {
		select {
		case <-serving.Done():
		case <-s.left:
		}
		s.retire() // Before disconnect, after which a successor publishes its own file.
		disconnect()
	})
	for {
		unix, err := s.listener.AcceptUnix()
		switch {
		case err == nil:
			work.Go(func() { s.answer(connected, newPacketConn(unix, s.timeouts.answer), &offer) })
		case errors.Is(err, net.ErrClosed):
			if s.hasLeft() || ctx.Err() != nil {
				return nil
			}
			return err
		default: // Such as no free descriptors.
			offer.Failed(fmt.Errorf("accepting a connection for a hand-over: %w", err))
			s.pause(ctx)
		}
	}
}

// hasLeft reports whether a successor serves.
func (s *Server) hasLeft() bool {
	select {
	case <-s.left:
		return true
	default:
		return false
	}
}

// pause lets a moment pass.
func (s *Server) pause(ctx context.Context) {
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-s.left:
	}
}

// answer serves a connection.
func (s *Server) answer(ctx context.Context, conn *packetConn, offer *Offer) {
	defer func() { _ = conn.unix.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.unix.Close() })
	defer stop()
	of, err := credentialsOf(conn.unix)
	if err == nil && of.uid != 0 { // root may have a successor started, but is none itself.
		err = admit(of.uid)
	}
	var first *message
	if err == nil {
		var descriptors []int
		first, descriptors, err = conn.receive(s.timeouts.answer)
		closeDescriptors(descriptors)
	}
	if errors.Is(err, errEnded) {
		return // Holder does no more, or ctx has ended.
	}
	if err == nil {
		switch first.Type {
		case typeHello:
			if err = admit(of.uid); err == nil {
				g := &giving{server: s, conn: conn, offer: offer, successor: Process{PID: of.pid, Release: first.Release}}
				err = g.run(ctx, first, stop)
			}
		case typeUpgrade:
			stop()
			err = s.upgrade(ctx, conn, offer)
		default:
			err = fmt.Errorf("a connection begins with a message of type %s", first.Type)
		}
	}
	if err != nil && ctx.Err() == nil {
		_ = conn.send(&message{Type: typeRefuse, Reason: err.Error()})
		offer.Failed(fmt.Errorf("hand-over to process %d: %w", of.pid, err))
		if errors.Is(err, errNotServing) {
			s.awaitEnd(ctx, conn, offer)
		}
	}
}

// awaitEnd waits until a successor that does not serve has closed the connection, since it may have been too slow and
// publish its file only now.
func (s *Server) awaitEnd(ctx context.Context, conn *packetConn, offer *Offer) {
	defer context.AfterFunc(ctx, func() { _ = conn.unix.Close() })()
	for end := time.Now().Add(s.timeouts.loading); ; {
		_, descriptors, err := conn.read(time.Until(end))
		if closeDescriptors(descriptors); err != nil {
			break
		}
	}
	s.files.Lock()
	defer s.files.Unlock()
	if err := s.restore(); err != nil {
		offer.Failed(fmt.Errorf("the next hand-over: %w", err))
	}
}

// claim begins a hand-over, if there is no other.
func (s *Server) claim() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.hasLeft() {
		return errors.New("another process has taken over")
	}
	if s.giving {
		return errors.New("busy: another hand-over is under way")
	}
	s.giving, s.given = true, make(chan struct{})
	return nil
}

// release ends a hand-over.
func (s *Server) release() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.giving = false
	close(s.given)
}

// Settle waits until no hand-over is under way, or until ctx ends. A process that is to end serves until then: the
// successor has its sockets, and would read them as well while it drains.
func (s *Server) Settle(ctx context.Context) {
	s.mutex.Lock()
	giving, given := s.giving, s.given
	s.mutex.Unlock()
	if !giving {
		return
	}
	select {
	case <-given:
	case <-ctx.Done():
	}
}
