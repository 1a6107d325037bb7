package static

import (
	"fmt"
	"path/filepath"
	"runtime"
)

// Handover describes how a running process hands its sockets to its successor; its presence enables that.
type Handover struct {
	Socket string   `json:"socket" description:"Absolute path of the Unix socket over which this process takes the sockets of a running one, and hands them to its successor; at most 100 bytes. Its directory must exist, belong to the user of the process, and be writable for no other. Linux only."`
	Drain  Duration `json:"drain" description:"How long connections may take to end after a hand-over; 0 is lifeCycle.graceTimeOut of each entrypoint." range:"0.."`
	Stay   bool     `json:"stay" description:"After a hand-over, and the end of all connections, wait for SIGTERM: for environments that start a process again when it has ended."`
}

// maxHandoverPath is the length of the longest path of the socket: a Unix address has 108 bytes, and the path gets a
// process id as suffix at first.
const maxHandoverPath = 100

// handover checks the options of the hand-over.
func (l *loader) handover() {
	h := l.Configuration.Handover
	if h == nil {
		return
	}
	fail := func(reason string) { l.fail(reason, "handover", "socket") }
	switch {
	case h.Socket == "":
		fail("is missing, expected an absolute path")
	case !filepath.IsAbs(h.Socket):
		fail(fmt.Sprintf("%s is no absolute path", shorten(h.Socket)))
	case len(h.Socket) > maxHandoverPath:
		fail(fmt.Sprintf("has %d bytes, at most %d are possible", len(h.Socket), maxHandoverPath))
	case runtime.GOOS != "linux":
		fail("sockets can be handed over on Linux only")
	}
}
