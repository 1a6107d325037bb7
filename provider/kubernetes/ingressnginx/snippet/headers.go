package snippet

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/nginx/duration"
	"github.com/sluiceproxy/sluice/nginx/variable"
)

// The sides of which headers are edited.
const (
	response = "responseHeaderModifier"
	request  = "proxySetHeader"
)

const (
	someStatuses = "nginx adds the header to responses with 200, 201, 204, 206, 301, 302, 303, 304, 307 and 308 only; " +
		"the middleware adds it to all"
	noVariables = "the values of headers of responses cannot have variables"
)

// edits collects edits of headers in one middleware, as long as no name occurs twice.
type edits struct {
	of       string
	proposal Proposal
	set, add []dynamic.HeaderValue
	remove   []string
}

// flush proposes what is collected.
func (e *edits) flush(r *reader) {
	if len(e.proposal.Lines) == 0 {
		return
	}
	e.proposal.Kind = e.of
	if e.of == request {
		e.proposal.Middleware = &dynamic.Middleware{ProxySetHeader: &dynamic.ProxySetHeader{Headers: e.set}}
	} else {
		e.proposal.Middleware = &dynamic.Middleware{ResponseHeaderModifier: &dynamic.ResponseHeaderModifier{
			Set: e.set, Add: e.add, Remove: e.remove,
		}}
	}
	r.out.Proposals = append(r.out.Proposals, e.proposal)
	*e = edits{of: e.of}
}

// take begins another middleware if one of the names is taken, and notes a directive.
func (e *edits) take(r *reader, one *directive, names ...string) {
	if slices.ContainsFunc(names, e.has) {
		e.flush(r)
		if e.of == request {
			e.proposal.caveat("nginx sends the header once for each directive; here the last middleware decides")
		} else {
			e.proposal.caveat("it stands before the middleware with the same header in the list of the route")
		}
	}
	e.proposal.of(one)
}

func (e *edits) has(name string) bool {
	same := func(other dynamic.HeaderValue) bool { return strings.EqualFold(other.Name, name) }
	return slices.ContainsFunc(e.set, same) || slices.ContainsFunc(e.add, same) ||
		slices.ContainsFunc(e.remove, func(other string) bool { return strings.EqualFold(other, name) })
}

// caveat adds a caveat once.
func (p *Proposal) caveat(text string) {
	if !slices.Contains(p.Caveats, text) {
		p.Caveats = append(p.Caveats, text)
	}
}

// fault says why a header with a value cannot be written; empty if it can.
func fault(name, value string) string {
	switch {
	case !httpguts.ValidHeaderFieldName(name):
		return "the name of the header is not valid"
	case !httpguts.ValidHeaderFieldValue(value):
		return "the value of the header is not valid"
	}
	return ""
}

// responseHeader reads a directive about headers of responses.
func (r *reader) responseHeader(one *directive) {
	switch one.name() {
	case "add_header":
		r.addHeader(one)
	case "proxy_hide_header":
		if len(one.words) != 2 || fault(one.words[1], "") != "" {
			r.rest(one, "it takes the name of one header")
			return
		}
		r.response.take(r, one, one.words[1])
		r.response.remove = append(r.response.remove, one.words[1])
	case "expires":
		r.expires(one)
	default:
		r.moreHeaders(one, r.response)
	}
}

// addHeader reads add_header.
func (r *reader) addHeader(one *directive) {
	always := len(one.words) == 4 && one.words[3] == "always"
	if len(one.words) != 3 && !always {
		r.rest(one, "it takes a name and a value, and perhaps always")
		return
	}
	name, value := one.words[1], one.words[2]
	switch reason := fault(name, value); {
	case reason != "":
		r.rest(one, reason)
		return
	case strings.Contains(value, "$"):
		r.rest(one, noVariables)
		return
	case value == "":
		r.rest(one, "an empty value only takes the place of inherited headers")
		return
	}
	e := r.response
	hidden := slices.IndexFunc(e.remove, func(other string) bool { return strings.EqualFold(other, name) })
	header := dynamic.HeaderValue{Name: name, Value: value}
	if hidden >= 0 { // proxy_hide_header and add_header together replace the header.
		e.remove = slices.Delete(e.remove, hidden, hidden+1)
		e.set = append(e.set, header)
		e.proposal.of(one)
	} else {
		e.take(r, one, name)
		e.add = append(e.add, header)
	}
	if !always {
		e.proposal.caveat(someStatuses)
	}
}

// moreHeaders reads a directive of the module headers-more.
func (r *reader) moreHeaders(one *directive, e *edits) {
	clearing := strings.HasPrefix(one.name(), "more_clear_")
	if len(one.words) < 2 {
		r.rest(one, "it takes headers")
		return
	}
	var headers []dynamic.HeaderValue
	var names []string
	for _, word := range one.words[1:] {
		name, value, valued := strings.Cut(word, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		reason := fault(name, value)
		switch {
		case strings.HasPrefix(word, "-"):
			reason = "options of the directive are not recognised"
		case strings.Contains(word, "*") && clearing:
			reason = "names with * have no equivalent"
		case clearing && valued:
			reason = "it takes names alone"
		case e.of == response && strings.Contains(value, "$"):
			reason = noVariables
		case e.of == request:
			reason = cmpOr(reason, templateFault(value))
		case slices.Contains(names, strings.ToLower(name)):
			reason = "a name occurs twice"
		}
		if reason != "" {
			r.rest(one, reason)
			return
		}
		headers = append(headers, dynamic.HeaderValue{Name: name, Value: value})
		names = append(names, strings.ToLower(name))
	}
	e.take(r, one, names...)
	for _, header := range headers {
		if header.Value == "" && e.of == response {
			e.remove = append(e.remove, header.Name)
		} else {
			e.set = append(e.set, header)
		}
	}
}

func cmpOr(first, second string) string {
	if first != "" {
		return first
	}
	return second
}

// templateFault says why a value cannot be a template of proxySetHeader; empty if it can.
func templateFault(value string) string {
	parsed, err := variable.Parse(value)
	switch {
	case err != nil:
		return err.Error()
	case parsed.Has(variable.Certificate) || parsed.Has(variable.Object) || parsed.Has(variable.Capture):
		return "it has a variable that has no value in the middleware"
	}
	return ""
}

// requestHeader reads a directive about headers of requests to the service.
func (r *reader) requestHeader(one *directive) {
	if one.name() != "proxy_set_header" {
		r.moreHeaders(one, r.request)
		return
	}
	if len(one.words) != 3 {
		r.rest(one, "it takes a name and a value")
		return
	}
	name, value := one.words[1], one.words[2]
	switch lower, text := strings.ToLower(name), strings.ToLower(value); {
	case lower == "upgrade" && text == "$http_upgrade",
		lower == "connection" && (text == "upgrade" || text == "$connection_upgrade" || text == "$http_connection"):
		r.propose(Proposal{Caveats: []string{"requests to upgrade, such as those of WebSocket, are passed on as they are"}}, one)
		return
	case lower == "x-forwarded-for" && text == "$proxy_add_x_forwarded_for":
		r.propose(Proposal{Caveats: []string{"the address of the client is appended anyway, after those of trusted proxies"}}, one)
		return
	}
	if reason := cmpOr(fault(name, value), templateFault(value)); reason != "" {
		r.rest(one, reason)
		return
	}
	r.request.take(r, one, name)
	r.request.set = append(r.request.set, dynamic.HeaderValue{Name: name, Value: value})
}

// expires reads expires with a time from now on, epoch, max and off.
func (r *reader) expires(one *directive) {
	if len(one.words) != 2 {
		r.rest(one, "the form with modified has no equivalent")
		return
	}
	const control, until = "Cache-Control", "Expires"
	var set []dynamic.HeaderValue
	var remove []string
	switch value := one.words[1]; value {
	case "off":
		r.propose(Proposal{Caveats: []string{"the headers are left as they are anyway"}}, one)
		return
	case "epoch":
		set = []dynamic.HeaderValue{{Name: control, Value: "no-cache"}, {Name: until, Value: "Thu, 01 Jan 1970 00:00:01 GMT"}}
	case "max":
		set = []dynamic.HeaderValue{
			{Name: control, Value: "max-age=315360000"}, {Name: until, Value: "Thu, 31 Dec 2037 23:55:55 GMT"},
		}
	default:
		age, ok := duration.Parse(strings.TrimPrefix(value, "-"))
		if !ok {
			r.rest(one, "it takes a time, epoch, max or off")
			return
		}
		set = []dynamic.HeaderValue{{Name: control, Value: "max-age=" + strconv.Itoa(int(age/time.Second))}}
		remove = []string{until}
		if strings.HasPrefix(value, "-") {
			set[0].Value = "no-cache"
		}
	}
	r.response.take(r, one, control, until)
	r.response.set, r.response.remove = append(r.response.set, set...), append(r.response.remove, remove...)
	if remove != nil {
		r.response.proposal.caveat("Expires, which would be a time from now on, is not sent: Cache-Control has precedence")
	}
	r.response.proposal.caveat(someStatuses)
}
