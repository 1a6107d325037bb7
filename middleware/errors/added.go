package errors

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/nginx/variable"
	"github.com/sluiceproxy/sluice/telemetry"
)

// addedHeader is a header of the request for a page (requestHeaders).
type addedHeader struct {
	name  string
	parts []addedPart
}

// addedPart is a text with variables, and the placeholder that follows it: empty for the last one.
type addedPart struct {
	text        variable.Template
	placeholder string
}

// parseAdded reads the option requestHeaders.
func parseAdded(list []dynamic.HeaderValue) ([]addedHeader, error) {
	var added []addedHeader
	for i, one := range list {
		name := http.CanonicalHeaderKey(one.Name)
		switch {
		case !httpguts.ValidHeaderFieldName(one.Name):
			return nil, fmt.Errorf("errors.requestHeaders[%d]: %q is no name of a header", i, one.Name)
		case forwarded.FramesAs(name):
			return nil, fmt.Errorf("errors.requestHeaders[%d]: %s frames the request and can't be set", i, one.Name)
		}
		h := addedHeader{name: name}
		for rest, more := one.Value, true; more; {
			var part addedPart
			var err error
			if part, rest, more, err = nextPart(rest); err != nil {
				return nil, fmt.Errorf("errors.requestHeaders[%d]: the value of %s: %w", i, one.Name, err)
			}
			h.parts = append(h.parts, part)
		}
		added = append(added, h)
	}
	return added, nil
}

// nextPart reads a value up to the next placeholder, and reports whether there was one.
func nextPart(value string) (part addedPart, rest string, more bool, err error) {
	end := len(value)
	for _, one := range []string{statusPlaceholder, originalPlaceholder} {
		if at := strings.Index(value, one); at >= 0 && at < end {
			end, part.placeholder, more = at, one, true
		}
	}
	part.text, err = variable.ParseLive(value[:end])
	return part, value[end+len(part.placeholder):], more, err
}

// addHeaders sets the headers of requestHeaders for a page in place of the answer to r.
func addHeaders(page, r *http.Request, added []addedHeader, status, original int) {
	if len(added) == 0 {
		return
	}
	live := variable.Live{Request: r, Client: telemetry.RecordFrom(r.Context()).Client}
	for i := range added {
		var value []byte
		for j := range added[i].parts {
			part := &added[i].parts[j]
			value = part.text.Append(value, &live)
			switch part.placeholder {
			case statusPlaceholder:
				value = strconv.AppendInt(value, int64(status), 10)
			case originalPlaceholder:
				value = strconv.AppendInt(value, int64(original), 10)
			}
		}
		forwarded.RemoveHeader(page.Header, added[i].name)
		if len(value) > 0 {
			page.Header[added[i].name] = []string{string(value)}
		}
	}
}
