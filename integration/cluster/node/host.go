package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
)

// Image is the program of an image.
type Image struct {
	// Program is the path of the executable, and Path its place in a container.
	Program, Path string
}

// host is what a node has when its pods with hostNetwork run as processes: a network namespace and files.
type host struct {
	namespace *namespace
	address   netip.Addr
	folder    string           // removed with the node
	images    map[string]Image // by reference
}

// hostLink returns the addresses of both ends of the link to a host, by its number.
func hostLink(number int) (near, far netip.Prefix) {
	const bits, size = 30, 4
	begin := byte(number * size)
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{203, 0, 113, begin + 1}), bits),
		netip.PrefixFrom(netip.AddrFrom4([4]byte{203, 0, 113, begin + 2}), bits)
}

// newHost makes a network namespace that is connected with that of the test.
func newHost(number int, images map[string]Image) (*host, error) {
	folder, err := os.MkdirTemp("", "sluice-node-")
	if err != nil {
		return nil, err
	}
	near, far := hostLink(number)
	namespace, err := newNamespace("host"+strconv.Itoa(number), near, far)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	return &host{namespace: namespace, address: far.Addr(), folder: folder, images: images}, nil
}

// listen listens on a TCP port of the host.
func (h *host) listen(port int) (listener net.Listener, err error) {
	address := net.JoinHostPort(h.address.String(), strconv.Itoa(port))
	inside := h.namespace.within(func() {
		listener, err = new(net.ListenConfig).Listen(context.Background(), "tcp", address)
	})
	return listener, errors.Join(inside, err)
}

// dial connects to an address as seen by the host.
func (h *host) dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	inside := h.namespace.within(func() { conn, err = new(net.Dialer).DialContext(ctx, network, address) })
	return conn, errors.Join(inside, err)
}

// file returns the place of a path of the host.
func (h *host) file(path string) string { return filepath.Join(h.folder, "files", path) }

func (h *host) close() error {
	return errors.Join(h.namespace.close(), os.RemoveAll(h.folder))
}

// AddHost registers a node with a name, an optional zone, and a network namespace of its own, and returns its address.
// Its pods with hostNetwork run the programs of images, by reference, as processes there: one container, with volumes,
// environment, capabilities, and a PID and a mount namespace of its own, whose readiness and end follow its probes.
// Other pods run as on the other nodes. It needs root, ip and nsenter.
func (n *Nodes) AddHost(ctx context.Context, name, zone string, images map[string]Image) (netip.Addr, error) {
	n.mutex.Lock()
	number := 0
	for _, one := range n.known {
		if one.host != nil {
			number++
		}
	}
	n.mutex.Unlock()
	h, err := newHost(number, images)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("node %s: %w", name, err)
	}
	listener, err := h.listen(kubeletPort)
	if err == nil {
		err = n.add(ctx, name, zone, listener, h)
	}
	if err != nil {
		return netip.Addr{}, fmt.Errorf("node %s: %w", name, errors.Join(err, h.close()))
	}
	return h.address, nil
}
