package h3

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlogwriter"
)

// traceSuffix ends the names of files in the form JSON-SEQ.
const traceSuffix = ".sqlog"

// Traces records the events of connections in files of a folder, one for each connection (draft-ietf-quic-qlog). The
// events of HTTP/3 are left out, because those have the fields of requests and responses in them. Writing holds a
// connection up.
type Traces struct {
	directory, prefix string
	maxFiles          int
	maxBytes          int64
	failed            func(error)

	mutex sync.Mutex
	// files are the names of those that there are, the oldest first; nil before the first connection.
	files []string
}

// NewTraces records at most maxFiles connections in a folder, each in maxBytes. Of files from before whose names begin
// with prefix as well, the oldest ones are removed. failed gets the error of each connection that is not recorded.
func NewTraces(directory, prefix string, maxFiles int, maxBytes int64, failed func(error)) *Traces {
	return &Traces{
		directory: directory, prefix: strings.ReplaceAll(prefix, string(filepath.Separator), "_") + "-",
		maxFiles: maxFiles, maxBytes: maxBytes, failed: failed,
	}
}

// Trace is a [Config.Trace].
func (t *Traces) Trace(_ context.Context, isClient bool, id quic.ConnectionID) qlogwriter.Trace {
	file, err := t.create(id)
	if err != nil {
		t.failed(err)
		return nil
	}
	sequence := qlogwriter.NewConnectionFileSeq(&boundedFile{file: file, left: t.maxBytes}, isClient, id)
	go sequence.Run()
	return transportTrace{sequence}
}

// create makes the file of a connection, and room for it.
func (t *Traces) create(id quic.ConnectionID) (*os.File, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.files == nil {
		entries, err := os.ReadDir(t.directory)
		if err != nil {
			return nil, err
		}
		t.files = []string{}
		for _, entry := range entries {
			if name := entry.Name(); strings.HasPrefix(name, t.prefix) && strings.HasSuffix(name, traceSuffix) {
				t.files = append(t.files, name)
			}
		}
		slices.Sort(t.files) // Names begin with the time.
	}
	for len(t.files) >= t.maxFiles {
		if err := os.Remove(filepath.Join(t.directory, t.files[0])); err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		t.files = t.files[1:]
	}
	name := fmt.Sprintf("%s%s-%s%s", t.prefix, time.Now().UTC().Format("20060102T150405.000000000"), id, traceSuffix)
	file, err := os.OpenFile(filepath.Join(t.directory, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	t.files = append(t.files, name)
	return file, nil
}

// boundedFile is a file that drops what is beyond its size.
type boundedFile struct {
	file *os.File
	left int64
}

// Write writes p, or nothing of it.
func (f *boundedFile) Write(p []byte) (int, error) {
	if f.left -= int64(len(p)); f.left < 0 {
		return len(p), nil
	}
	return f.file.Write(p)
}

// Close closes the file.
func (f *boundedFile) Close() error { return f.file.Close() }

// transportTrace is a trace without the events of HTTP/3.
type transportTrace struct{ inner qlogwriter.Trace }

// AddProducer returns a recorder.
func (t transportTrace) AddProducer() qlogwriter.Recorder {
	recorder := t.inner.AddProducer()
	if recorder == nil {
		return nil
	}
	return transportRecorder{recorder}
}

type transportRecorder struct{ qlogwriter.Recorder }

// RecordEvent records an event of QUIC.
func (r transportRecorder) RecordEvent(event qlogwriter.Event) {
	if !strings.HasPrefix(event.Name(), "http3:") {
		r.Recorder.RecordEvent(event)
	}
}
