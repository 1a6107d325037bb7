package forwardauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/sluiceproxy/sluice/middleware/answer"
	"github.com/sluiceproxy/sluice/middleware/authorize"
	"github.com/sluiceproxy/sluice/telemetry"
)

// maxUsername is how long the name of a user can be in a record, in bytes.
const maxUsername = 255

// admit sends an authentication request about a request. It returns the headers of the answer when the request may
// pass, and nil when it has been answered.
func (f *ForwardAuth) admit(w http.ResponseWriter, r *http.Request) http.Header {
	body, ok := f.receive(w, r)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(r.Context(), f.server.timeout, errTimeout)
	defer cancel()
	if err := f.server.Acquire(ctx); err != nil {
		f.fail(ctx, w, r, err)
		return nil
	}
	held := true
	release := func() {
		if held {
			held = false
			f.server.Release()
		}
	}
	defer release()
	answered, err := f.server.Send(f.settings.authRequest(r, body).WithContext(ctx))
	if err != nil {
		f.fail(ctx, w, r, err)
		return nil
	}
	defer answered.Body.Close() //nolint:errcheck // It has been read, or is not needed.
	if f.settings.userField != "" {
		if names := answered.Header[f.settings.userField]; len(names) > 0 {
			telemetry.RecordFrom(r.Context()).Username = names[0][:min(len(names[0]), maxUsername)]
		}
	}
	if answered.StatusCode > 299 {
		f.relay(ctx, w, r, answered, release)
		return nil
	}
	// An answer that is not whole refuses the request.
	if err := authorize.CopyLimited(io.Discard, answered.Body, f.settings.maxAnswer); err != nil {
		f.unread(ctx, w, r, err)
		return nil
	}
	return answered.Header
}

// receive reads the body of a request that the authentication server is to be shown, and replaces it by what was read.
// It is not ok when the request has been answered.
func (f *ForwardAuth) receive(w http.ResponseWriter, r *http.Request) (body []byte, ok bool) {
	s := f.settings
	if !s.forwardBody {
		return nil, true
	}
	body, err := authorize.ReadBody(r, s.maxBody)
	switch {
	case errors.Is(err, authorize.ErrTooLarge):
		f.refuse(w, r, "the request's body is larger than maxBodySize, "+strconv.FormatInt(s.maxBody, 10))
	case err != nil:
		answer.UnreadableBody(w, r, f.name, err)
	default:
		return body, true
	}
	return nil, false
}

// unread answers a request about which an answer was given that could not be read.
func (f *ForwardAuth) unread(ctx context.Context, w http.ResponseWriter, r *http.Request, err error) {
	if !errors.Is(err, authorize.ErrTooLarge) {
		f.fail(ctx, w, r, err)
		return
	}
	limit := strconv.FormatInt(f.settings.maxAnswer, 10)
	f.refuse(w, r, "the authentication server's answer is larger than maxResponseBodySize, "+limit)
}

// refuse answers with 401 for a body that is too large.
func (f *ForwardAuth) refuse(w http.ResponseWriter, r *http.Request, reason string) {
	f.counts.refused.Add(1)
	answer.Refuse(w, r, http.StatusUnauthorized, f.name, reason)
}

// fail answers a request about which no answer came, unless the client has left. The context is that of the
// authentication request.
func (f *ForwardAuth) fail(ctx context.Context, w http.ResponseWriter, r *http.Request, err error) {
	ended := r.Context().Err()
	if ended == nil || errors.Is(ended, context.DeadlineExceeded) {
		f.counts.failed.Add(1)
	}
	switch {
	case ended != nil:
		answer.Leave(w, r, f.name, "the authentication server answered")
	case ctx.Err() != nil:
		answer.Refuse(w, r, http.StatusInternalServerError, f.name,
			fmt.Sprintf("the authentication server did not answer within %v", f.server.timeout))
	default:
		answer.Refuse(w, r, http.StatusInternalServerError, f.name, "asking the authentication server: "+err.Error())
	}
}
