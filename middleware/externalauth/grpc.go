package externalauth

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	authv3 "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"golang.org/x/net/http/httpguts"
	"google.golang.org/protobuf/proto"

	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/middleware/authorize"
)

const (
	// method is the path of the call.
	method = "/envoy.service.auth.v3.Authorization/Check"
	// framing is the length of what precedes a message: a flag and its length.
	framing = 5
)

var (
	errMessage = errors.New("its answer is not one message of gRPC")
	errHeader  = errors.New("its answer sets a header that is not valid, or that frames a message")
)

// grpcAsker calls Check of envoy.service.auth.v3.Authorization.
type grpcAsker struct {
	settings *settings
	service  http.Handler
}

func (a *grpcAsker) ask(ctx context.Context, r *http.Request, body []byte) (*verdict, error) {
	message, err := proto.Marshal(a.settings.check(r, body))
	if err != nil {
		return nil, err
	}
	framed := make([]byte, framing, framing+len(message))
	binary.BigEndian.PutUint32(framed[1:], uint32(len(message))) //nolint:gosec // Heads and bodies are far smaller.
	q := newRequest(ctx, r, http.MethodPost, append(framed, message...))
	q.URL.Path = method
	q.RequestURI = method
	q.Proto, q.ProtoMajor, q.ProtoMinor = "HTTP/2.0", 2, 0
	q.Header = http.Header{
		"Content-Type": {"application/grpc"}, "Te": {"trailers"}, "X-Forwarded-For": nil,
	}
	if deadline, ok := ctx.Deadline(); ok {
		// Eight digits at most, as the protocol demands, since there are timeout.Milliseconds() at most.
		q.Header["Grpc-Timeout"] = []string{strconv.FormatInt(max(1, time.Until(deadline).Milliseconds()), 10) + "m"}
	}
	answered, err := call(a.service, q)
	if err != nil {
		return nil, err
	}
	given, err := messageOf(answered)
	if err != nil {
		return nil, err
	}
	return decide(given)
}

// messageOf returns the message of a call that has succeeded.
func messageOf(answered *reply) (*authv3.CheckResponse, error) {
	if answered.status != http.StatusOK {
		return nil, fmt.Errorf("its status is %d", answered.status)
	}
	status := answered.trailer.Get("Grpc-Status")
	if status == "" && len(answered.body) == 0 { // There are no trailers but in the head.
		status = answered.header.Get("Grpc-Status")
	}
	if status != "0" {
		return nil, fmt.Errorf("its gRPC status is %.20q", status)
	}
	body := answered.body
	if len(body) < framing || body[0] != 0 || uint64(binary.BigEndian.Uint32(body[1:])) != uint64(len(body)-framing) {
		return nil, errMessage
	}
	given := &authv3.CheckResponse{}
	if err := proto.Unmarshal(body[framing:], given); err != nil {
		return nil, errMessage
	}
	return given, nil
}

// decide reads the decision of an answer. An answer that could not be applied whole is an error.
func decide(given *authv3.CheckResponse) (*verdict, error) {
	if given.GetErrorResponse() != nil {
		return nil, errors.New("it has failed")
	}
	if given.GetStatus().GetCode() != 0 {
		denied := given.GetDeniedResponse()
		d := &denial{status: int(denied.GetStatus().GetCode()), header: http.Header{}, body: []byte(denied.GetBody())}
		if d.status < http.StatusOK || d.status > 599 {
			d.status = http.StatusForbidden
		}
		edits, err := editsOf(denied.GetHeaders(), add)
		for i := range edits {
			if option := denied.GetHeaders()[i]; option.GetAppend() != nil { //nolint:staticcheck // As in actionOf.
				edits[i].action = add // There is nothing to overwrite, and Set-Cookie comes more than once.
			}
			edits[i].apply(d.header)
		}
		return &verdict{denial: d}, err
	}
	if given.GetDeniedResponse() != nil {
		return nil, errors.New("it grants and denies")
	}
	granted := given.GetOkResponse()
	g := &grant{removeQuery: granted.GetQueryParametersToRemove()}
	removed := slices.DeleteFunc(slices.Clone(granted.GetHeadersToRemove()), func(name string) bool {
		return strings.HasPrefix(name, ":") // Pseudo-headers stay.
	})
	names, err := authorize.HeaderNames("headers_to_remove", removed)
	if err != nil {
		return nil, errHeader
	}
	for _, name := range names {
		if !forwarded.FramesAs(name) {
			g.remove = append(g.remove, name)
		}
	}
	for _, p := range granted.GetQueryParametersToSet() {
		g.setQuery = append(g.setQuery, parameter{p.GetKey(), p.GetValue()})
	}
	if g.edits, err = editsOf(granted.GetHeaders(), overwrite); err != nil {
		return nil, err
	}
	g.responseEdits, err = editsOf(granted.GetResponseHeadersToAdd(), add)
	return &verdict{grant: g}, err
}

// editsOf reads changes of headers, which do what otherwise says unless they say it themselves.
func editsOf(options []*corev3.HeaderValueOption, otherwise action) ([]edit, error) {
	var edits []edit
	for _, option := range options {
		header := option.GetHeader()
		value := header.GetValue()
		if value == "" {
			value = string(header.GetRawValue())
		}
		name := http.CanonicalHeaderKey(header.GetKey())
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) ||
			forwarded.FramesAs(name) {
			return nil, errHeader
		}
		edits = append(edits, edit{name: name, values: []string{value}, action: actionOf(option, otherwise)})
	}
	return edits, nil
}

// actionOf returns what a change does. The zero value of append_action can't be told from none.
func actionOf(option *corev3.HeaderValueOption, otherwise action) action {
	//nolint:staticcheck // Servers still set the deprecated field, which goes before.
	if appends := option.GetAppend(); appends != nil {
		if appends.GetValue() {
			return add
		}
		return overwrite
	}
	switch option.GetAppendAction() {
	case corev3.HeaderValueOption_ADD_IF_ABSENT:
		return addIfAbsent
	case corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD:
		return overwrite
	case corev3.HeaderValueOption_OVERWRITE_IF_EXISTS:
		return overwriteIfPresent
	case corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD:
	}
	return otherwise
}
