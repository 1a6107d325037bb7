package forward

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/httpio"
)

func TestBodyIsLeftToTheServer(t *testing.T) {
	closed := false
	r := &http.Request{Method: http.MethodPost}
	r.Body = closing{bytes.NewReader(make([]byte, 10)), func() { closed = true }}
	r.ContentLength = 10
	body, _ := newRequestBody(r, 0, nil)
	if err := body.Close(); err != nil || closed {
		t.Errorf("closed %t, %v", closed, err)
	}
	if n, err := body.Read(make([]byte, 5)); n != 0 || err == nil {
		t.Errorf("a closed body gave %d bytes, %v", n, err)
	}
}

type closing struct {
	io.Reader
	close func()
}

func (c closing) Close() error {
	c.close()
	return nil
}

// TestWhatHasComeOfABody reads it without waiting where the server has ReadNow.
func TestWhatHasComeOfABody(t *testing.T) {
	r := &http.Request{Method: http.MethodPost}
	r.Body, r.ContentLength = closing{strings.NewReader("body"), func() {}}, 4
	body, replayBody := newRequestBody(r, 0, nil)
	if _, ready := body.outgoing(replayBody).(httpio.ReadyReader); ready {
		t.Error("a body that waits has ReadNow")
	}
	r.Body = ready{r.Body, io.ErrUnexpectedEOF}
	body, replayBody = newRequestBody(r, 0, nil)
	n, err := body.outgoing(replayBody).(httpio.ReadyReader).ReadNow(make([]byte, 10))
	if got := fmt.Sprint(n, err, replayBody.Failure()); got != "4 unexpected EOF unexpected EOF" {
		t.Errorf("ReadNow: %s", got)
	}
	_ = body.Close()
	if n, err := body.outgoing(replayBody).(httpio.ReadyReader).ReadNow(make([]byte, 10)); n != 0 || err == nil {
		t.Errorf("a closed body gave %d bytes, %v", n, err)
	}
}

type ready struct {
	io.ReadCloser
	err error
}

func (r ready) ReadNow(p []byte) (int, error) {
	n, _ := r.Read(p)
	return n, r.err
}
