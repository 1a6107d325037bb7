package datagram

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// maxBurst is how many datagrams of one session are read at once.
const maxBurst = 16

// replies are messages for clients that are sent by one call.
type replies struct {
	headers  [batchSize]mmsghdr
	messages [batchSize]joined
	sessions [batchSize]*session
	storage  [batchSize]unix.Iovec
	names    [batchSize]unix.RawSockaddrInet6
	controls [batchSize][96]byte
	// count is the number of messages, used that of the vectors in them.
	count, used int
	single      unix.Iovec
}

func (r *replies) init() {
	for i := range r.headers {
		r.headers[i].header.Name = (*byte)(unsafe.Pointer(&r.names[i]))
	}
}

// add adds datagrams for the client of a session, to the last message if join is set and that is possible.
func (r *replies) add(s *session, data []byte, segment int, join bool) {
	r.used++
	if last := r.count - 1; join && last >= 0 && r.sessions[last] == s && r.messages[last].add(data, segment) {
		return
	}
	i := r.count
	r.count++
	r.sessions[i] = s
	r.messages[i].reset(r.storage[r.used-1:])
	r.messages[i].add(data, segment)
	// The session may be over before the message is sent.
	r.names[i] = s.socket.name
	header := &r.headers[i].header
	header.Namelen = s.socket.length
	header.SetControllen(copy(r.controls[i][:], s.socket.control))
}

// prepare completes the headers.
func (r *replies) prepare() {
	for i := range r.count {
		header, message := &r.headers[i].header, &r.messages[i]
		header.Iov = &message.vectors[0]
		header.SetIovlen(len(message.vectors))
		control := r.controls[i][:header.Controllen]
		if message.count > 1 {
			control = appendSegment(control, message.size)
			header.SetControllen(len(control))
		}
		header.Control = nil
		if len(control) > 0 {
			header.Control = &r.controls[i][0]
		}
	}
}

// fromEndpoint reads what an endpoint has sent, for the next flush.
func (w *worker) fromEndpoint(s *session) {
	refused := false
	for {
		if w.pending == batchSize {
			w.flush()
		}
		n, err := w.endpoints.read(s.socket.fd, w.pending, min(s.socket.burst, batchSize-w.pending))
		switch {
		case err == nil:
		case unreachable(err) && !refused:
			refused = true // What was sent before that is still to be read.
			continue
		case refused:
			w.elsewhere(s)
			return
		default:
			return
		}
		s.socket.adapt(n)
		if refused {
			s.answered = true // And yet the last datagram may be the refused one.
			w.touch(s, s.list)
		} else {
			w.answers(s)
		}
		if w.reply(s, n) {
			w.end(s, Responses)
			return
		}
		if !refused {
			return
		}
	}
}

// adapt reads more at once where that is worthwhile.
func (s *socket) adapt(n int) {
	if n == s.burst {
		s.burst = min(2*s.burst, maxBurst)
	} else {
		s.burst = max(n, 1)
	}
}

// reply queues the next n slots for the client, and reports whether they were the last of the session.
func (w *worker) reply(s *session, n int) (last bool) {
	for range n {
		data, said := w.endpoints.take(w.pending)
		size, count := sizes(data, said.segment)
		allowed := 0
		if !last {
			allowed, last = s.expected(count)
		}
		if w.pending++; allowed < count {
			w.server.drops.add(Surplus, count-allowed)
			if allowed == 0 {
				continue
			}
			data = data[:allowed*size]
		}
		s.fromEndpoint.add(allowed, len(data))
		w.replies.add(s, data, said.segment, w.listener.segments)
	}
	return last
}

// flush sends what is queued.
func (w *worker) flush() {
	r := &w.replies
	r.prepare()
	for i := 0; i < r.count; {
		if r.messages[i].count > 1 && !w.listener.segments {
			w.sendEach(i)
			i++
			continue
		}
		sent, err := sendmmsg(w.listener.fd, r.headers[i:r.count])
		i += sent
		if err == nil {
			continue
		}
		if r.messages[i].count > 1 && unsegmentable(err) {
			w.unsegmented(err)
			w.sendEach(i)
		} else {
			w.server.drops.add(Unsent, r.messages[i].count)
		}
		i++
	}
	r.count, r.used, w.pending = 0, 0, 0
}

// sendEach sends the datagrams of a message one by one.
func (w *worker) sendEach(i int) {
	r := &w.replies
	header := r.headers[i].header
	header.Iov = &r.single
	header.SetIovlen(1)
	header.SetControllen(int(header.Controllen) - len(appendSegment(nil, 0))) //nolint:gosec // a few bytes
	if header.Controllen == 0 {
		header.Control = nil
	}
	r.messages[i].each(func(datagram []byte) {
		r.single.Base = unsafe.SliceData(datagram)
		r.single.SetLen(len(datagram))
		if sendmsg(w.listener.fd, &header) != nil {
			w.server.drops.add(Unsent, 1)
		}
	})
}

// sendmmsg sends messages, and returns how many were sent before the one that the error is about.
func sendmmsg(fd int, messages []mmsghdr) (int, error) {
	for {
		sent, _, errno := unix.RawSyscall6(unix.SYS_SENDMMSG,
			uintptr(fd), uintptr(unsafe.Pointer(&messages[0])), uintptr(len(messages)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL,
			0, 0)
		switch errno {
		case 0:
			return int(sent), nil
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}
