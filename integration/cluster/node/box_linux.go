package node

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// apart returns the attributes of the first process of a container, which ends with its parent.
func apart() (*syscall.SysProcAttr, error) {
	return &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL,
	}, nil
}

// enter isolates this process and starts the program in it. It returns only on failure.
func (b *box) enter() error {
	runtime.LockOSThread() // Namespace and capabilities are those of the thread that starts the program.
	file, err := os.Open(b.Namespace)
	if err != nil {
		return err
	}
	if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("network namespace: %w", err)
	}
	if err := b.mount(); err != nil {
		return err
	}
	if err := unix.Chroot(b.Root); err != nil {
		return fmt.Errorf("chroot: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	if err := b.restrict(); err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", b.Command[0], syscall.Exec(b.Command[0], b.Command, b.Env))
}

// mount mounts what the file system has beside its own files, for this mount namespace alone.
func (b *box) mount() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mount namespace: %w", err)
	}
	for at, source := range b.Mounts {
		if err := unix.Mount(source, filepath.Join(b.Root, at), "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("mount %s at %s: %w", source, at, err)
		}
	}
	if err := unix.Mount("proc", filepath.Join(b.Root, "proc"), "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	return nil
}

// restrict drops capabilities.
func (b *box) restrict() error {
	known := map[string]int{"NET_BIND_SERVICE": unix.CAP_NET_BIND_SERVICE}
	var kept []int
	for _, name := range b.Capabilities {
		number, ok := known[name]
		if !ok {
			return fmt.Errorf("capability %s is not supported", name)
		}
		kept = append(kept, number)
	}
	for number := range unix.CAP_LAST_CAP + 1 {
		if slices.Contains(kept, number) {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(number), 0, 0, 0); err != nil {
			return fmt.Errorf("capability %d: %w", number, err)
		}
	}
	if b.Escalates {
		return nil
	}
	return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
}
