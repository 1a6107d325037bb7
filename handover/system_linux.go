package handover

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
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

// checkDirectory returns why another user could replace a file of a directory: the directory itself, or one above it,
// which could be renamed there.
func checkDirectory(path string) error {
	directory, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !directory.IsDir() {
		return &fs.PathError{Op: "stat", Path: path, Err: syscall.ENOTDIR}
	}
	of, err := ownerOf(path, directory)
	if err != nil {
		return err
	}
	if own := os.Geteuid(); of != own {
		return fmt.Errorf("%s belongs to the user %d; it must belong to the user of the process, %d", path, of, own)
	}
	if mode := directory.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("%s has the mode %04o; only its owner may be allowed to write", path, mode)
	}
	return checkFolders(path)
}

// maxLinks is how many symbolic links a path may lead through, as for the kernel.
const maxLinks = 40

// checkFolders checks the folders that an absolute path leads through, from the root on, and its symbolic links.
func checkFolders(path string) error {
	at, rest, links := "/", strings.Split(path, "/"), 0
	for {
		file, err := os.Lstat(at)
		if err == nil {
			err = checkFolder(at, file)
		}
		if err != nil {
			return err
		}
		if file.Mode().Type() == fs.ModeSymlink {
			if links++; links > maxLinks {
				return &fs.PathError{Op: "stat", Path: path, Err: syscall.ELOOP}
			}
			target, err := os.Readlink(at)
			if err != nil {
				return err
			}
			if at = filepath.Dir(at); filepath.IsAbs(target) {
				at = "/"
			}
			rest = append(strings.Split(target, "/"), rest...)
		}
		for len(rest) > 0 && (rest[0] == "" || rest[0] == ".") {
			rest = rest[1:]
		}
		if len(rest) == 0 {
			return nil
		}
		at, rest = filepath.Join(at, rest[0]), rest[1:] // There is no link in at, so that .. is what is above it.
	}
}

// checkFolder returns why a user other than root could change what a folder or a symbolic link leads to. In a folder
// with the sticky bit, only its owner can rename one.
func checkFolder(path string, file fs.FileInfo) error {
	of, err := ownerOf(path, file)
	if err != nil {
		return err
	}
	if own := os.Geteuid(); of != 0 && of != own {
		return fmt.Errorf("%s belongs to the user %d; every folder above must belong to root or to the user of the "+
			"process, %d", path, of, own)
	}
	mode := file.Mode()
	if mode.IsDir() && mode.Perm()&0o022 != 0 && mode&fs.ModeSticky == 0 {
		return fmt.Errorf("%s has the mode %04o; in every folder above, only its owner may be allowed to write, unless "+
			"it has the sticky bit", path, mode.Perm())
	}
	return nil
}

// ownerOf returns the user ID of a file.
func ownerOf(path string, file fs.FileInfo) (uid int, err error) {
	of, ok := file.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, fmt.Errorf("%s: its owner is unknown", path)
	}
	return int(of.Uid), nil
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
