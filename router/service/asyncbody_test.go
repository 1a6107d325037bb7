package service

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// A small buffer gets what has come piece by piece, and the end behind it.
func TestThePatientLoseNothing(t *testing.T) {
	for _, source := range []io.Reader{strings.NewReader("0123456789"), iotest.DataErrReader(strings.NewReader("0123456789"))} {
		b := newAsyncBody(source)
		var got []byte
		for {
			p := make([]byte, 3)
			n, err := b.read(p, nil)
			if got = append(got, p[:n]...); err != nil {
				if string(got) != "0123456789" || !errors.Is(err, io.EOF) {
					t.Errorf("%q, %v", got, err)
				}
				break
			}
		}
	}
}

func TestWhatComesAfterGivingUpIsForTheNext(t *testing.T) {
	source, client := io.Pipe()
	b := newAsyncBody(source)
	gone := make(chan struct{})
	close(gone)
	if n, err := b.read(make([]byte, 10), gone); n != 0 || !errors.Is(err, errGivenUp) {
		t.Fatalf("%d, %v", n, err)
	}
	go func() {
		_, _ = io.WriteString(client, "late")
		_ = client.Close()
	}()
	p := make([]byte, 10)
	if n, err := b.read(p, nil); string(p[:n]) != "late" || err != nil {
		t.Errorf("%q, %v", p[:n], err)
	}
	if n, err := b.read(p, nil); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("%d, %v", n, err)
	}
}
