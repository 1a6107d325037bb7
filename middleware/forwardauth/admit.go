package forwardauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/sluiceproxy/sluice/middleware/answer"
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
	defer f.server.done()
	defer cancel()
	answered, err := f.server.ask(ctx, f.settings.authRequest(r, body))
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
		f.relay(ctx, w, r, answered)
		return nil
	}
	if err := f.settings.discard(answered); err != nil {
		f.unread(ctx, w, r, err)
		return nil
	}
	return answered.Header
}

// errTooLarge says that a body is longer than maxBodySize or maxResponseBodySize allow.
var errTooLarge = errors.New("too large")

// discard reads the body of an answer that lets pass. One that is not whole refuses the request.
func (s *settings) discard(answered *http.Response) error {
	if answered.Body == http.NoBody {
		return nil
	}
	_, err := io.Copy(io.Discard, s.limited(answered))
	return err
}

// limited returns the body of an answer, which fails with errTooLarge when it is longer than it may be.
func (s *settings) limited(answered *http.Response) io.Reader {
	if s.maxAnswer < 0 {
		return answered.Body
	}
	return &limited{reader: answered.Body, left: s.maxAnswer}
}

// limited fails when there is more to read than it may be.
type limited struct {
	reader io.Reader
	left   int64
}

// Read reads what may be read, and one byte more to see whether there is any.
func (l *limited) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if int64(len(p))-1 > l.left {
		p = p[:l.left+1]
	}
	n, err := l.reader.Read(p)
	if int64(n) > l.left {
		return int(l.left), errTooLarge
	}
	l.left -= int64(n)
	return n, err
}

// unread answers a request about which an answer was given that could not be read.
func (f *ForwardAuth) unread(ctx context.Context, w http.ResponseWriter, r *http.Request, err error) {
	if !errors.Is(err, errTooLarge) {
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
	switch {
	case errors.Is(r.Context().Err(), context.DeadlineExceeded):
		f.counts.failed.Add(1)
		answer.Refuse(w, r, http.StatusGatewayTimeout, f.name,
			"the time for the request was over before the authentication server answered")
	case r.Context().Err() != nil:
		answer.Note(r, f.name, "the client left before the authentication server answered")
		telemetry.RecordFrom(r.Context()).Status = telemetry.StatusClientClosedRequest
	case ctx.Err() != nil:
		f.counts.failed.Add(1)
		answer.Refuse(w, r, http.StatusInternalServerError, f.name,
			fmt.Sprintf("the authentication server did not answer within %v", f.server.timeout))
	default:
		f.counts.failed.Add(1)
		answer.Refuse(w, r, http.StatusInternalServerError, f.name, "asking the authentication server: "+describe(err))
	}
}
