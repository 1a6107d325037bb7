package datagram

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// run is datagrams of one session that have come in a row, to be sent to its endpoint at once.
type run struct {
	joined

	session *session
	header  unix.Msghdr
	// single is the vector of a datagram that is sent alone.
	single  unix.Iovec
	storage [batchSize]unix.Iovec
	control [64]byte
}

// prepare fills in the header for all of the run.
func (r *run) prepare() {
	r.header = unix.Msghdr{Iov: &r.vectors[0]}
	r.header.SetIovlen(len(r.vectors))
	if r.count > 1 {
		control := appendSegment(r.control[:0], r.size)
		r.header.Control = &control[0]
		r.header.SetControllen(len(control))
	}
}

// prepareSingle fills in the header for one datagram.
func (r *run) prepareSingle(datagram []byte) {
	r.single.Base = unsafe.SliceData(datagram)
	r.single.SetLen(len(datagram))
	r.header = unix.Msghdr{Iov: &r.single}
	r.header.SetIovlen(1)
}

// fromClients reads what clients have sent, and sends it on.
func (w *worker) fromClients() {
	n, err := w.clients.read(w.listener.fd, 0, batchSize)
	if err != nil {
		return // Nothing has come after all, or the error is about something that was sent.
	}
	for i := range n {
		data, said := w.clients.take(i)
		if said.lost != 0 && said.lost != w.lost {
			w.server.drops.add(Overflow, int(said.lost-w.lost))
			w.lost = said.lost
		}
		k := key{client: readName(&w.clients.names[i]), local: said.local}
		if s := w.out.session; s != nil && (s.key != k || !w.listener.segments || !w.out.add(data, said.segment)) {
			w.sendRun()
		} else if s != nil {
			continue
		}
		w.startRun(k, data, said.segment)
	}
	w.sendRun()
}

// startRun begins a run with the datagrams of a client, unless they are dropped.
func (w *worker) startRun(k key, data []byte, segment int) {
	s := w.sessions[k]
	if s == nil {
		var cause Cause
		if s, cause = w.open(k, nil); s == nil {
			_, count := sizes(data, segment)
			w.server.drops.add(cause, count)
			return
		}
	}
	w.heard(s)
	w.out.session = s
	w.out.reset(w.out.storage[:])
	w.out.add(data, segment)
}

// sendRun sends the run to the endpoint.
func (w *worker) sendRun() {
	r := &w.out
	s := r.session
	if s == nil {
		return
	}
	r.session = nil
	if r.count == 1 || w.listener.segments {
		r.prepare()
		next, err := w.deliver(s, r.count, r.bytes, r.last)
		if r.count == 1 || !unsegmentable(err) {
			if err != nil {
				w.server.drops.add(Unsent, r.count)
			}
			return
		}
		w.unsegmented(err)
		s = next
	}
	r.each(func(datagram []byte) {
		if s == nil {
			w.server.drops.add(NoEndpoint, 1)
			return
		}
		r.prepareSingle(datagram)
		var err error
		if s, err = w.deliver(s, 1, len(datagram), datagram); err != nil {
			w.server.drops.add(Unsent, 1)
		}
	})
}

// unsegmented takes notice of an error of joined datagrams.
func (w *worker) unsegmented(err error) {
	if errors.Is(err, unix.EIO) {
		w.listener.segments = false // The interface can't do it.
	}
}

// deliver sends what the header of the run holds, to another endpoint if that of the session has refused what was sent
// before. It returns the client's session, which is nil if there is none any more; then the datagrams are dropped. The
// error is any other than a refusal.
func (w *worker) deliver(s *session, count, bytes int, last []byte) (*session, error) {
	k := s.key
	for opened := false; ; {
		err := sendmsg(s.socket.fd, &w.out.header)
		switch {
		case err == nil:
			s.sent(count, bytes, last)
			return s, nil
		case !unreachable(err):
			return s, err
		}
		cause := NoEndpoint
		if s = w.elsewhere(s); s == nil && !opened {
			opened = true
			s, cause = w.open(k, nil)
		}
		if s == nil {
			w.server.drops.add(cause, count)
			return nil, nil
		}
	}
}

// elsewhere replaces a session whose endpoint has refused a datagram: that one is sent to another endpoint, if it is
// known. It returns nil if it is not, or if no endpoint takes it.
func (w *worker) elsewhere(s *session) *session {
	for {
		if s = w.failOver(s); s == nil {
			return nil
		}
		err := unix.Sendto(s.socket.fd, s.kept, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, nil)
		switch {
		case err == nil:
			s.fromClient.add(1, len(s.kept))
			return s
		case !unreachable(err):
			w.server.drops.add(Unsent, 1)
			s.kept = s.kept[:0]
			return s
		}
	}
}
