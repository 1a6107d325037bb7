package errors

import (
	"net/http"

	"github.com/sluiceproxy/sluice/httpio/replay"
)

// keptBody is the body of a request, which its handlers read first, and then the error page service.
type keptBody struct {
	body    replay.Body
	first   replay.Reader
	length  int64
	trailer http.Header
}

// keep has what the handlers read of a request's body kept for a page. It returns nil where nothing is to be kept.
func (e *ErrorPages) keep(r *http.Request) *keptBody {
	if !e.original || r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 || r.ContentLength > e.maxBody {
		return nil
	}
	k := &keptBody{length: r.ContentLength, trailer: r.Trailer}
	k.body.Init(r.Body, r.ContentLength, e.maxBody, e.memory)
	k.body.Open(&k.first)
	r.Body = &k.first
	return k
}

// send gives the request for a page the body from the beginning. It reports false if there is none, or if a part of it
// is no longer kept.
func (k *keptBody) send(page *http.Request) bool {
	if k == nil {
		return false
	}
	_ = k.first.Close() // It never fails.
	if !k.body.HandOver() || k.length < 0 && !k.body.Complete() {
		return false
	}
	reader := new(replay.Reader)
	k.body.Open(reader)
	page.Body, page.ContentLength, page.Trailer = reader, k.length, k.trailer
	return true
}

// release frees the memory. Nothing reads the body any longer.
func (k *keptBody) release() {
	if k != nil {
		k.body.Release()
	}
}
