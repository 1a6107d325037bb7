package httpio_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/httpio"
)

// wrapper is a response writer on top of another.
type wrapper struct{ http.ResponseWriter }

func (w wrapper) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// able is a response writer with every capability of this package.
type able struct{ http.ResponseWriter }

func (able) ResetConn()     { panic("reset") }
func (able) Splices() bool  { return true }
func (able) Discards() bool { return true }

func TestWritersAreUnwrappedForDiscards(t *testing.T) {
	plain := httptest.NewRecorder()
	if httpio.Discards(wrapper{plain}) {
		t.Error("a writer without the method discards")
	}
	if !httpio.Discards(wrapper{wrapper{able{plain}}}) {
		t.Error("a writer that discards is not found below two wrappers")
	}
	if !httpio.Splices(able{plain}) || httpio.Splices(plain) {
		t.Error("only a writer with the method splices")
	}
	if httpio.Splices(wrapper{able{plain}}) {
		t.Error("a wrapper that may change the body splices")
	}
}

func TestWritersAreUnwrappedForResetConn(t *testing.T) {
	plain := httptest.NewRecorder()
	httpio.ResetConn(wrapper{plain})
	defer func() {
		if cause := recover(); cause != "reset" {
			t.Errorf("a writer with a connection is not found below two wrappers: %v", cause)
		}
	}()
	httpio.ResetConn(wrapper{wrapper{able{plain}}})
}

// source is a reader whose WriteTo must not be called.
type source struct{ io.Reader }

func (source) WriteTo(io.Writer) (int64, error) { return 0, errors.New("WriteTo was called") }

// sink is a writer that notes what its ReadFrom was given.
type sink struct {
	strings.Builder
	from io.Reader
}

func (s *sink) ReadFrom(from io.Reader) (int64, error) {
	s.from = from
	return io.Copy(&s.Builder, struct{ io.Reader }{from})
}

func TestReadFromKeepsTheSource(t *testing.T) {
	from := source{strings.NewReader("body")}
	var direct sink
	if n, err := httpio.ReadFrom(&direct, from); n != 4 || err != nil || direct.from != from || direct.String() != "body" {
		t.Errorf("%d, %v, from %T: %q", n, err, direct.from, direct.String())
	}
	var copied strings.Builder
	plain := struct{ io.Reader }{strings.NewReader("body")}
	if _, err := httpio.ReadFrom(&copied, plain); err != nil || copied.String() != "body" {
		t.Errorf("%v: %q", err, copied.String())
	}
}

func TestConnections(t *testing.T) {
	client, server := net.Pipe()
	defer client.Close() //nolint:errcheck // a test's
	defer server.Close() //nolint:errcheck // a test's
	layered := tls.Client(client, &tls.Config{MinVersion: tls.VersionTLS13, ServerName: "a"})
	if httpio.Bottom(layered) != client || httpio.Bottom(client) != client {
		t.Error("the connection below is another")
	}
	if err := httpio.CloseWrite(client); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("closing one direction of a pipe: %v", err)
	}
	if err := httpio.SetLinger(client, 0); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("setting the linger time of a pipe: %v", err)
	}
}
