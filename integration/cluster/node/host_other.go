//go:build !linux

package node

import (
	"errors"
	"net/netip"
	"syscall"
)

// errLinux means that hosts are impossible on this system.
var errLinux = errors.New("nodes with network namespaces need Linux")

// namespace is a network namespace, which only Linux has.
type namespace struct{}

func newNamespace(string, netip.Prefix, netip.Prefix) (*namespace, error) { return nil, errLinux }

func (n *namespace) path() string { return "" }

func (n *namespace) within(func()) error { return errLinux }

func (n *namespace) close() error { return nil }

func apart() (*syscall.SysProcAttr, error) { return nil, errLinux }

func (b *box) enter() error { return errLinux }
