package satisfyany

import (
	"io"
	"net/http"

	"github.com/sluiceproxy/sluice/httpio"
)

// collector keeps the status and the headers of a member's response, and drops its body. Once it is released, it is the
// server's writer.
type collector struct {
	http.ResponseWriter

	released, declined bool
	header             http.Header
	// status is that of the response, 0 before there is one; stands is the one that it stands for, if that is another.
	status, stands int
}

// unwrapper is a wrapper of a response writer, as [http.ResponseController] defines it.
type unwrapper interface {
	Unwrap() http.ResponseWriter
}

// collectorOf returns the collector below a writer.
func collectorOf(w http.ResponseWriter) *collector {
	for {
		if found, ok := w.(*collector); ok {
			return found
		}
		w = w.(unwrapper).Unwrap() // Every wrapper of a writer has it.
	}
}

// begin prepares for the next member.
func (c *collector) begin() {
	c.header, c.status, c.stands, c.declined = nil, 0, 0, false
}

// release lets through what follows.
func (c *collector) release() {
	c.released = true
	for name, values := range c.header {
		c.ResponseWriter.Header()[name] = values
	}
}

// StandsFor implements answer.Collector.
func (c *collector) StandsFor(status int) { c.stands = status }

// Header returns the headers of the member's response.
func (c *collector) Header() http.Header {
	if c.released {
		return c.ResponseWriter.Header()
	}
	if c.header == nil {
		c.header = http.Header{}
	}
	return c.header
}

// WriteHeader keeps a final status.
func (c *collector) WriteHeader(status int) {
	switch {
	case c.released:
		c.ResponseWriter.WriteHeader(status)
	case c.status == 0 && status >= http.StatusOK:
		c.status = status
	}
}

// Write drops the body of a member's response.
func (c *collector) Write(body []byte) (int, error) {
	if c.released {
		return c.ResponseWriter.Write(body)
	}
	c.WriteHeader(http.StatusOK)
	return len(body), nil
}

// ReadFrom lets the server splice if it can.
func (c *collector) ReadFrom(body io.Reader) (int64, error) {
	if c.released {
		return httpio.ReadFrom(c.ResponseWriter, body)
	}
	return io.Copy(httpio.OnlyWriter{Writer: c}, body)
}

// Splices implements httpio.Splicer.
func (c *collector) Splices() bool { return c.released && httpio.Splices(c.ResponseWriter) }

// Unwrap returns the server's writer, for http.ResponseController.
func (c *collector) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// refusal is what is answered if no member lets the request in.
type refusal struct {
	// status is 0 without a refusal, and stands the one that it stands for.
	status, stands int
	header         http.Header
}

// add adds a member's refusal, of which that with 401 counts before that with 403, and among those a redirect before
// others. The challenges of all are kept. It reports false for another status, which is no refusal.
func (f *refusal) add(c *collector) bool {
	stands := c.status
	if c.stands != 0 {
		stands = c.stands
	}
	if stands != http.StatusUnauthorized && stands != http.StatusForbidden {
		return false
	}
	better := f.status == 0 || stands == http.StatusUnauthorized && f.stands == http.StatusForbidden ||
		stands == f.stands && c.status != stands && f.status == f.stands
	if !better {
		f.header["Www-Authenticate"] = append(f.header["Www-Authenticate"], c.header["Www-Authenticate"]...)
		return true
	}
	f.status, f.stands, f.header = c.status, stands, f.with(c.header)
	return true
}

// with returns the header of a response, with the challenges so far before its own.
func (f *refusal) with(header http.Header) http.Header {
	if header == nil {
		header = http.Header{}
	}
	if challenges := f.header["Www-Authenticate"]; len(challenges) > 0 {
		header["Www-Authenticate"] = append(challenges, header["Www-Authenticate"]...)
	}
	return header
}

// send answers with the status, the headers, and the text of the status.
func (f *refusal) send(w http.ResponseWriter) {
	header := w.Header()
	for name, values := range f.header {
		if len(values) > 0 {
			header[name] = values
		}
	}
	if f.status < 400 {
		delete(header, "Content-Length") // The body was dropped.
		w.WriteHeader(f.status)
		return
	}
	http.Error(w, http.StatusText(f.status), f.status)
}
