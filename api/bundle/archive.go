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

// errAbsent says that there is nothing to pack, which is no problem.
var errAbsent = errors.New("there is none")

// item is one file of an archive.
type item struct {
	name    string
	content func() ([]byte, error)
}

// archive is a tar archive that is being made in memory.
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

// add adds a file. One that cannot be made keeps no other from being there.
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
	if err != nil { // Memory takes everything, so the name or the size is at fault.
		a.problems = append(a.problems, name+": "+err.Error())
		return
	}
	a.files++
}

// close returns the whole archive. What could not be made is said in a file of its own.
func (a *archive) close() []byte {
	if len(a.problems) > 0 {
		a.write("problems.txt", []byte(strings.Join(a.problems, "\n")+"\n"))
	}
	_, _ = a.tar.Close(), a.zip.Close() // memory takes everything
	return a.buffer.Bytes()
}

// attempt makes the content of a file. Whoever asks for help may have a Sluice in which something panics.
func attempt(one item) (content []byte, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic of type %T", cause) // What it says may be anything.
		}
	}()
	return one.content()
}
