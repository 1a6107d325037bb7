package wire

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// longest is the length of the largest datagram, in bytes.
const longest = 2 << 10

// Datagrams returns datagrams to their senders, several with each call of the kernel.
type Datagrams struct {
	buffers  [Batch][longest]byte
	vectors  [Batch]unix.Iovec
	senders  [Batch]unix.RawSockaddrInet4
	messages [Batch]message
}

// message is the kernel's struct mmsghdr.
type message struct {
	header unix.Msghdr
	length uint32
	_      [4]byte
}

// Return receives up to Batch datagrams and sends them back, without waiting. It returns how many there were.
func (d *Datagrams) Return(socket int) (int, error) {
	for i := range d.messages {
		d.vectors[i].Base = &d.buffers[i][0]
		d.vectors[i].SetLen(longest)
		d.messages[i].header = unix.Msghdr{
			Name: (*byte)(unsafe.Pointer(&d.senders[i])), Namelen: unix.SizeofSockaddrInet4, Iov: &d.vectors[i],
		}
		d.messages[i].header.SetIovlen(1)
	}
	got, err := d.call(unix.SYS_RECVMMSG, socket, Batch)
	if err != nil || got == 0 {
		return 0, err
	}
	for i := range got {
		d.vectors[i].SetLen(int(d.messages[i].length))
	}
	_, err = d.call(unix.SYS_SENDMMSG, socket, got)
	return got, err
}

func (d *Datagrams) call(number uintptr, socket, n int) (int, error) {
	done, _, errno := syscall.RawSyscall6(number, uintptr(socket), uintptr(unsafe.Pointer(&d.messages[0])), uintptr(n),
		unix.MSG_DONTWAIT, 0, 0)
	return result(done, errno)
}
