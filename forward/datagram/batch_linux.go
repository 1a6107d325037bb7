package datagram

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// batchSize is how many datagrams one call reads or writes.
	batchSize = 32
	// slotBytes is room for the longest datagram, or for those that the kernel has joined. It is no power of two: the
	// beginnings of all slots would compete for the same lines of the processor's cache.
	slotBytes = 64<<10 + 1<<10 + 64
	// maxJoined and maxJoinedBytes bound what is sent as one: UDP_MAX_SEGMENTS of older kernels, and the longest payload
	// over IPv4.
	maxJoined      = 64
	maxJoinedBytes = 65507
)

// mmsghdr is struct mmsghdr of recvmmsg(2).
type mmsghdr struct {
	header unix.Msghdr
	length uint32
}

// intake is what one call reads.
type intake struct {
	headers  [batchSize]mmsghdr
	vectors  [batchSize]unix.Iovec
	names    [batchSize]unix.RawSockaddrInet6
	controls [batchSize][controlBytes]byte
	// named is whether the sources are read.
	named  bool
	memory []byte
}

// None of the calls here and in the loop of a worker blocks, so they are made without the scheduler's notice
// (RawSyscall): otherwise each wake-up of a worker would wake the scheduler's monitor too, which doubles the cost of
// datagrams that come one by one.

// newMemory returns slots for a batch, outside of Go's heap: most of it is never used, and must not count there.
func newMemory() ([]byte, error) {
	return unix.Mmap(-1, 0, batchSize*slotBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
}

func (b *intake) init(memory []byte, named bool) {
	b.memory, b.named = memory, named
	for i := range b.headers {
		header := &b.headers[i].header
		b.vectors[i].Base = &memory[i*slotBytes]
		b.vectors[i].SetLen(slotBytes)
		header.Iov, header.Control = &b.vectors[i], &b.controls[i][0]
		header.SetIovlen(1)
		if named {
			header.Name = (*byte)(unsafe.Pointer(&b.names[i]))
		}
		b.reset(i)
	}
}

// reset restores what a call has overwritten.
func (b *intake) reset(i int) {
	header := &b.headers[i].header
	header.SetControllen(controlBytes)
	if b.named {
		header.Namelen = unix.SizeofSockaddrInet6
	}
}

// read reads at most n datagrams into the slots from first on.
func (b *intake) read(fd, first, n int) (int, error) {
	for {
		read, _, errno := unix.RawSyscall6(unix.SYS_RECVMMSG,
			uintptr(fd), uintptr(unsafe.Pointer(&b.headers[first])), uintptr(n), unix.MSG_DONTWAIT, 0, 0)
		switch errno {
		case 0:
			return int(read), nil
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}

// take returns a datagram that was read, and makes its slot ready for the next call; the datagram is valid until then.
func (b *intake) take(i int) ([]byte, ancillary) {
	message := &b.headers[i]
	said := parseControl(b.controls[i][:message.header.Controllen])
	b.reset(i)
	return b.memory[i*slotBytes:][:message.length:message.length], said
}

// joined is datagrams that are sent by one call: all have the same size, but the last may be shorter.
type joined struct {
	size, count, bytes int
	vectors            []unix.Iovec
	last               []byte
}

// reset empties it. vectors is where the parts are noted.
func (j *joined) reset(vectors []unix.Iovec) { *j = joined{vectors: vectors[:0]} }

// add joins the datagrams in data, whose size is segment (0 for a single one), unless they cannot go with those before.
func (j *joined) add(data []byte, segment int) bool {
	size, count := sizes(data, segment)
	switch {
	case j.count == 0:
		j.size = size
	case size != j.size || size == 0 || j.bytes%j.size != 0 ||
		j.count+count > maxJoined || j.bytes+len(data) > maxJoinedBytes || len(j.vectors) == cap(j.vectors):
		return false
	}
	j.count += count
	j.bytes += len(data)
	vector := unix.Iovec{Base: unsafe.SliceData(data)}
	vector.SetLen(len(data))
	j.vectors = append(j.vectors, vector)
	j.last = data[(count-1)*size:]
	return true
}

// sizes returns the size and the number of the datagrams in data.
func sizes(data []byte, segment int) (size, count int) {
	if segment <= 0 || segment >= len(data) {
		return len(data), 1
	}
	return segment, (len(data) + segment - 1) / segment
}

// each calls do for every single datagram.
func (j *joined) each(do func(datagram []byte)) {
	for _, vector := range j.vectors {
		data := unsafe.Slice(vector.Base, vector.Len)
		for first := true; first || len(data) > 0; first = false {
			n := min(j.size, len(data))
			do(data[:n])
			data = data[n:]
		}
	}
}

// sendmsg sends one message.
func sendmsg(fd int, header *unix.Msghdr) error {
	for {
		_, _, errno := unix.RawSyscall(unix.SYS_SENDMSG,
			uintptr(fd), uintptr(unsafe.Pointer(header)), unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		switch errno {
		case 0:
			return nil
		case unix.EINTR:
		default:
			return errno
		}
	}
}

// unsegmentable reports whether the error may be about datagrams being joined.
func unsegmentable(err error) bool {
	return errors.Is(err, unix.EIO) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EMSGSIZE)
}
