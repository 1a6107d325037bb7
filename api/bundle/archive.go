package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"strings"
	"time"
)

// errAbsent means that there is nothing to pack. It is not reported.
var errAbsent = errors.New("there is none")

// item is one file of an archive.
type item struct {
	name    string
	content func() ([]byte, error)
}

// archive is a gzipped tar archive in memory.
type archive struct {
	buffer   bytes.Buffer
	zip      *gzip.Writer
	tar      *tar.Writer
	made     time.Time
	files    int
	problems []string
}

func newArchive(made time.Time) *archive {
	a := &archive{made: made}
	a.zip = gzip.NewWriter(&a.buffer)
	a.tar = tar.NewWriter(a.zip)
	return a
}

// add adds a file. An error is recorded and does not affect other files.
func (a *archive) add(one item) {
	content, err := attempt(one)
	switch {
	case errors.Is(err, errAbsent):
		return
	case err != nil:
		a.problems = append(a.problems, one.name+": "+err.Error())
		return
	}
	a.write(one.name, content)
}

func (a *archive) write(name string, content []byte) {
	err := a.tar.WriteHeader(&tar.Header{
		Name: name, Mode: 0o600, Size: int64(len(content)), ModTime: a.made,
		Format: tar.FormatPAX,
	})
	if err == nil {
		_, err = a.tar.Write(content)
	}
	if err != nil { // Writes to memory do not fail, so the name or size is wrong.
		a.problems = append(a.problems, name+": "+err.Error())
		return
	}
	a.files++
}

// close returns the archive. The errors are in a file of their own.
func (a *archive) close() []byte {
	if len(a.problems) > 0 {
		a.write("problems.txt", []byte(strings.Join(a.problems, "\n")+"\n"))
	}
	_, _ = a.tar.Close(), a.zip.Close() // writes to memory do not fail
	return a.buffer.Bytes()
}

// attempt returns the content of a file. It recovers from panics, so that the archive is available when a part of
// Sluice is broken.
func attempt(one item) (content []byte, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic of type %T", cause) // The value may contain secrets.
		}
	}()
	return one.content()
}
