package service

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/middleware/headerlist"
	"github.com/sluiceproxy/sluice/nginx/variable"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Direct answers by itself.
type Direct struct {
	name    string
	status  int
	body    string
	headers []directHeader
	// trim removes a slash from the end of Location.
	trim bool
}

// directHeader is a header of the response, with its canonical name.
type directHeader struct {
	name  string
	value variable.Template
}

// NewDirect returns the handler of a directResponse service: the status is from 200 to 599, a status without content
// has no body, and headers that frame messages are left alone.
func NewDirect(name string, config *dynamic.DirectResponse) (*Direct, error) {
	switch status := config.Status; {
	case status < 200 || status > 599:
		return nil, fmt.Errorf("directResponse.status %d is not from 200 to 599", status)
	case config.Body != "" && bodiless(status):
		return nil, fmt.Errorf("directResponse.body: a response with status %d has none", status)
	}
	direct := &Direct{name: name, status: config.Status, body: config.Body, trim: config.TrimTrailingSlash}
	if len(config.Headers) == 0 {
		return direct, nil
	}
	edits, err := headerlist.Parse("directResponse.headers", config.Headers, nil, nil)
	if err != nil {
		return nil, err
	}
	for _, edit := range edits {
		value, err := variable.ParseLive(edit.Value)
		if err != nil {
			return nil, fmt.Errorf("directResponse.headers: %s: %w", edit.Name, err)
		}
		direct.headers = append(direct.headers, directHeader{edit.Name, value})
	}
	return direct, nil
}

// bodiless reports whether responses with a status have no content (RFC 9110 section 6.4.1).
func bodiless(status int) bool {
	return status == http.StatusNoContent || status == http.StatusResetContent || status == http.StatusNotModified
}

// Up reports true: it needs no endpoint.
func (*Direct) Up() bool { return true }

// NoRetain implements httpio.NoRetainer.
func (*Direct) NoRetain() {}

// ServeHTTP answers with the status, the headers and the body, and a call of gRPC with the status code of gRPC.
func (d *Direct) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	record := telemetry.RecordFrom(r.Context())
	record.Service = d.name
	live := variable.Live{Request: r, Client: record.Client}
	for i := range d.headers {
		value := string(d.headers[i].value.Append(nil, &live))
		if d.trim && d.headers[i].name == "Location" {
			value = strings.TrimSuffix(value, "/")
		}
		w.Header().Set(d.headers[i].name, value)
	}
	if d.body == "" && !httpio.IsGRPC(r) {
		if !bodiless(d.status) {
			w.Header().Set("Content-Length", "0")
		}
		record.Status = d.status
		w.WriteHeader(d.status)
		return
	}
	record.Status = httpio.Error(w, r, d.status, d.body)
}
