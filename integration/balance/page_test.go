package balance

import (
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// page is memory that a test shares with the process of an endpoint. What has been counted there outlives the process,
// and can be read while that is stopped.
type page struct {
	// Set by the test: how the endpoint answers, after how many nanoseconds, with which status, the status of checks, and
	// how many of the held requests may continue.
	mode, delay, status, health, released atomic.Int64
	// Set by the endpoint: its port, the requests (without checks), those in flight and their maximum, the held ones, and
	// its connections, total and open.
	port, arrived, probes, busy, peak, held, opened, open atomic.Int64
}

// The modes of an endpoint.
const (
	// answers with the status, after the delay.
	answers int64 = iota
	// hangs until the client has left.
	hangs
	// breaks closes the connection once the request has been read.
	breaks
	// holds each request until the test releases it, in the order of their arrival.
	holds
)

// mapPage maps a file as a page.
func mapPage(name string) (*page, func(), error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close() //nolint:errcheck // The mapping keeps what it needs.
	size := os.Getpagesize()
	if err := file.Truncate(int64(size)); err != nil {
		return nil, nil, err
	}
	memory, err := syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, fmt.Errorf("mapping %s: %w", name, err)
	}
	return (*page)(unsafe.Pointer(&memory[0])), func() { _ = syscall.Munmap(memory) }, nil
}

// most raises a counter to a value, unless it is higher.
func most(counter *atomic.Int64, value int64) {
	for {
		old := counter.Load()
		if value <= old || counter.CompareAndSwap(old, value) {
			return
		}
	}
}
