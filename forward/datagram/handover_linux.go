package datagram

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// parking has the workers of a server stop reading for a while.
type parking struct {
	mutex sync.Mutex
	// workers are those that run.
	workers []*worker
	// current is where they wait; nil while they read.
	current *place
	// adopted are the sessions to go on with.
	adopted Handed
	pools   Pools
	// left is set by Leave.
	left bool
}

// place is one wait of the workers.
type place struct {
	// parked gets a value for each worker that reads no more.
	parked chan struct{}
	// resume is closed when they go on, and left when another process has the sessions.
	resume, left chan struct{}
}

// lent is the socket of a session that is handed over, which stays the session's. It is a syscall.Conn and a
// syscall.RawConn.
type lent struct {
	mutex sync.Mutex
	// fd is negative when the session may go on.
	fd int
}

// SyscallConn returns the socket itself.
func (l *lent) SyscallConn() (syscall.RawConn, error) { return l, nil }

// Control calls f with the descriptor, which is open meanwhile.
func (l *lent) Control(f func(fd uintptr)) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.fd < 0 {
		return net.ErrClosed
	}
	f(uintptr(l.fd))
	return nil
}

// Read fails: the sessions of a server that is parked are not read.
func (l *lent) Read(func(fd uintptr) bool) error { return errors.ErrUnsupported }

// Write fails as Read does.
func (l *lent) Write(func(fd uintptr) bool) error { return errors.ErrUnsupported }

// recall ends the use of the descriptor by others.
func (l *lent) recall() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.fd = -1
}

// Park stops reading from clients and endpoints, and returns when nothing is read any more, or with the cause of ctx
// when that ends before. Datagrams wait in the queues of the sockets, for another process that has these or for Unpark.
// Sessions do not end meanwhile, not even with the context of ServePackets. Unpark or Leave must follow, also after an
// error.
func (s *Server) Park(ctx context.Context) error {
	p := &s.parking
	p.mutex.Lock()
	if p.current != nil {
		p.mutex.Unlock()
		return errors.New("the sockets are not read already")
	}
	at := &place{parked: make(chan struct{}, len(p.workers)), resume: make(chan struct{}), left: make(chan struct{})}
	p.current = at
	for _, one := range p.workers {
		one.park(at)
	}
	workers := len(p.workers)
	p.mutex.Unlock()
	for range workers {
		select {
		case <-at.parked:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// Unpark reads again after Park. It does nothing where Park has not been called.
func (s *Server) Unpark() {
	if at := s.leavePlace(); at != nil {
		close(at.resume)
	}
}

// Leave gives up the sockets after Park, and the sessions that Handed has returned: they go on in another process, and
// have no record here. Other sessions end. It does nothing where Park has not been called.
func (s *Server) Leave() {
	at := s.leavePlace()
	if at == nil {
		return
	}
	close(at.left)
	p := &s.parking
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.left = true
	for i := range p.adopted.Sessions { // ServePackets has not been called.
		closeConn(p.adopted.Sessions[i].Conn)
	}
	p.adopted = Handed{}
}

// leavePlace has no worker wait any more that does not yet.
func (s *Server) leavePlace() *place {
	p := &s.parking
	p.mutex.Lock()
	defer p.mutex.Unlock()
	at := p.current
	p.current = nil
	for _, one := range p.workers {
		one.place.Store(nil)
	}
	return at
}

// Handed returns what another process needs to go on, after Park and before Unpark or Leave: at most limit sessions,
// the most recently used ones. Their Conn belong to the server, and are closed for the caller after Unpark or Leave.
func (s *Server) Handed(limit int) Handed {
	p := &s.parking
	p.mutex.Lock()
	defer p.mutex.Unlock()
	now, room := s.instant(), maxHandedKept
	var sessions []*session
	handed := Handed{Overflow: make([]uint32, len(p.workers))}
	for _, one := range p.workers {
		if one.position < len(handed.Overflow) {
			handed.Overflow[one.position] = one.lost
		}
		for _, session := range one.sessions {
			sessions = append(sessions, session)
		}
	}
	slices.SortFunc(sessions, func(a, b *session) int { return cmp.Compare(b.active, a.active) })
	if omitted := len(sessions) - limit; omitted > 0 {
		for _, session := range sessions[limit:] {
			session.recall() // It may have been handed by an earlier call.
		}
		handed.Omitted, sessions = omitted, sessions[:limit]
	}
	handed.Sessions = make([]Session, 0, len(sessions))
	for _, session := range sessions {
		one := session.handed(now, &room)
		if session.lent == nil {
			session.lent = &lent{fd: session.socket.fd}
		}
		one.Conn, one.Socket = session.lent, session.socket.position
		handed.Sessions = append(handed.Sessions, one)
	}
	return handed
}

// Adopt has ServePackets, which must not have been called, go on with the sessions of another process, whose sockets it
// takes over. Sessions whose service or endpoint is not in pools go on as after a change of the configuration: until
// they are idle, or for the drain time. Those beyond udp.maxSessions and udp.maxSessionsPerClient end.
func (s *Server) Adopt(handed Handed, pools Pools) {
	p := &s.parking
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.adopted, p.pools = handed, pools
}

// begin has workers take over the adopted sessions, and reports false after Leave.
func (s *Server) begin(workers []*worker) bool {
	p := &s.parking
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.left {
		return false
	}
	handed := p.adopted
	p.adopted, p.workers = Handed{}, workers
	if len(handed.Sessions) > 0 {
		slices.SortFunc(handed.Sessions, func(a, b Session) int { return cmp.Compare(b.Idle, a.Idle) })
		adoption := newAdoption(p.pools)
		for i := range handed.Sessions {
			one := &handed.Sessions[i]
			if one.Socket < 0 || one.Socket >= len(workers) {
				s.decline(one, Shutdown)
				continue
			}
			workers[one.Socket].adopt(one, adoption)
		}
	}
	for i, lost := range handed.Overflow {
		if i < len(workers) {
			workers[i].lost = lost
		}
	}
	for _, one := range workers {
		one.adopted()
		if p.current != nil {
			one.park(p.current)
		}
	}
	return true
}

// refuse ends the sessions to go on with where the server cannot begin.
func (s *Server) refuse() {
	p := &s.parking
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for i := range p.adopted.Sessions {
		s.decline(&p.adopted.Sessions[i], Shutdown)
	}
	p.adopted = Handed{}
}

// ended notes that a worker has ended.
func (s *Server) ended(w *worker) {
	p := &s.parking
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.workers = slices.DeleteFunc(p.workers, func(other *worker) bool { return other == w })
	if at := p.current; at != nil {
		at.arrive()
	}
}

// arrive says that a worker reads no more.
func (at *place) arrive() {
	select {
	case at.parked <- struct{}{}:
	default: // It began to run after Park, or has said so before.
	}
}

// waitParked waits while the server is parked, and reports whether the worker goes on then.
func (w *worker) waitParked() bool {
	at := w.place.Load()
	if at == nil {
		return true
	}
	since := w.server.instant()
	at.arrive() // The set is not polled meanwhile.
	select {
	case <-at.resume:
		w.now = w.server.instant()
		for _, s := range w.sessions {
			s.recall()
			s.active += w.now - since // What came meanwhile waits in the sockets.
		}
		return true
	case <-at.left:
		w.now = w.server.instant()
		for _, s := range w.sessions {
			if s.recall() {
				w.forget(s)
			}
		}
		return false
	}
}

// recall ends the use of the session's socket by others, and reports whether there was such a use.
func (s *session) recall() bool {
	if s.lent == nil {
		return false
	}
	s.lent.recall()
	s.lent = nil
	return true
}

// adopt goes on with a session of another process.
func (w *worker) adopt(handed *Session, adoption *adoption) {
	w.now = w.server.instant()
	k := key{client: handed.Client, local: handed.Local}
	if _, known := w.sessions[k]; known {
		w.server.decline(handed, Shutdown)
		return
	}
	if _, ok := w.admit(k); !ok {
		w.server.decline(handed, Evicted)
		return
	}
	s := &session{
		key: k, entryPoint: handed.EntryPoint, router: handed.Router, generation: handed.Generation,
		began: w.now - handed.Age, active: w.now - handed.Idle, fromClient: handed.FromClient,
		fromEndpoint: handed.FromEndpoint, answered: handed.Answered, proven: handed.Proven, kept: handed.Kept,
	}
	fd, err := duplicate(handed.Conn)
	if err == nil {
		err = w.use(s, fd)
	}
	if err != nil {
		w.server.release(k)
		w.server.decline(handed, Evicted)
		return
	}
	closeConn(handed.Conn)
	adoption.attach(s, handed, w)
	w.sessions[k] = s
	if s.proven {
		w.proven.push(s)
	} else {
		w.young.push(s)
	}
}

// adopted ends the adopted sessions that are idle, and has the worker wake up for the others.
func (w *worker) adopted() {
	w.now = w.server.instant()
	if next := w.expire(); next > 0 {
		w.armAt(next)
	}
}

// duplicate returns a descriptor of its own for a socket.
func duplicate(conn syscall.Conn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd, failed := -1, error(nil)
	err = raw.Control(func(of uintptr) { fd, failed = unix.FcntlInt(of, unix.F_DUPFD_CLOEXEC, 0) })
	return fd, errors.Join(err, failed)
}
