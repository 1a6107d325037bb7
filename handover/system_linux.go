package handover

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// supported returns why sockets cannot be handed over on this system.
func supported() error { return nil }

// credentials are those of a process at the other end of a connection.
type credentials struct{ pid, uid int }

// credentialsOf returns those with which the other end has connected, or has begun to listen.
func credentialsOf(conn *net.UnixConn) (credentials, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return credentials{}, err
	}
	var of *unix.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) {
		of, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return credentials{}, err
	}
	if failed != nil {
		return credentials{}, os.NewSyscallError("getsockopt SO_PEERCRED", failed)
	}
	return credentials{pid: int(of.Pid), uid: int(of.Uid)}, nil
}

// checkDirectory returns why another user could replace a file of a directory.
func checkDirectory(path string) error {
	directory, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !directory.IsDir() {
		return &fs.PathError{Op: "stat", Path: path, Err: syscall.ENOTDIR}
	}
	of, ok := directory.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("%s: its owner is unknown", path)
	}
	if own := os.Geteuid(); int(of.Uid) != own {
		return fmt.Errorf("%s belongs to the user %d; it must belong to the user of the process, %d", path, of.Uid, own)
	}
	if mode := directory.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("%s has the mode %04o; only its owner may be allowed to write", path, mode)
	}
	return nil
}

// controlBytes is the size of the control message with so many descriptors.
func controlBytes(descriptors int) int { return unix.CmsgSpace(4 * descriptors) }

// rights returns the control message that sends descriptors.
func rights(descriptors []int) []byte { return unix.UnixRights(descriptors...) }

// truncated reports whether a packet was longer than its buffer.
func truncated(flags int) bool { return flags&unix.MSG_TRUNC != 0 }

// descriptorsOf returns the descriptors that a packet has brought. Go receives them with close-on-exec.
func descriptorsOf(control []byte, flags int) ([]int, error) {
	if len(control) == 0 && flags&unix.MSG_CTRUNC == 0 {
		return nil, nil
	}
	messages, err := unix.ParseSocketControlMessage(control)
	var descriptors []int
	for i := range messages {
		if messages[i].Header.Level != unix.SOL_SOCKET || messages[i].Header.Type != unix.SCM_RIGHTS {
			continue
		}
		more, failed := unix.ParseUnixRights(&messages[i])
		err = errors.Join(err, failed)
		descriptors = append(descriptors, more...)
	}
	if err == nil && flags&unix.MSG_CTRUNC != 0 {
		err = fmt.Errorf("descriptors are missing after %d: the limit of open files is reached (LimitNOFILE, ulimit -n), "+
			"or a message has more than %d", len(descriptors), maxDescriptors)
	}
	if err != nil {
		closeDescriptors(descriptors)
		return nil, err
	}
	return descriptors, nil
}

// closeDescriptors closes descriptors that were received.
func closeDescriptors(descriptors []int) {
	for _, descriptor := range descriptors {
		_ = unix.Close(descriptor)
	}
}
