package service

import (
	"fmt"
	"net/http"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/httpio"
	"github.com/sluiceproxy/sluice/telemetry"
)

// Direct answers by itself.
type Direct struct {
	name   string
	status int
	body   string
}

// NewDirect returns the handler of a directResponse service: the status is from 200 to 599, and a status without
// content has no body.
func NewDirect(name string, config *dynamic.DirectResponse) (*Direct, error) {
	switch status := config.Status; {
	case status < 200 || status > 599:
		return nil, fmt.Errorf("directResponse.status %d is not from 200 to 599", status)
	case config.Body != "" && bodiless(status):
		return nil, fmt.Errorf("directResponse.body: a response with status %d has none", status)
	}
	return &Direct{name: name, status: config.Status, body: config.Body}, nil
}

// bodiless reports whether responses with a status have no content (RFC 9110 section 6.4.1).
func bodiless(status int) bool {
	return status == http.StatusNoContent || status == http.StatusResetContent || status == http.StatusNotModified
}

// Up reports true: it needs no endpoint.
func (*Direct) Up() bool { return true }

// NoRetain implements httpio.NoRetainer.
func (*Direct) NoRetain() {}

// ServeHTTP answers with the status and the body, and a call of gRPC with the status code of gRPC.
func (d *Direct) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	record := telemetry.RecordFrom(r.Context())
	record.Service = d.name
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
