package answer

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Field is a part of an answer that is compared.
type Field string

// The fields. Those of headers are followed by their names.
const (
	Status         Field = "status"
	Location       Field = "Location"
	Cookie         Field = "Set-Cookie"
	Response       Field = "response header "
	Service        Field = "service"
	Method         Field = "upstream method"
	Target         Field = "upstream target"
	Host           Field = "upstream Host"
	UpstreamHeader Field = "upstream header "
)

// Difference is a field in which two answers differ.
type Difference struct {
	Field Field `json:"field"`
	// Want and Got are the values; empty for none.
	Want string `json:"want"`
	Got  string `json:"got"`
}

// responseHeaders are the headers of responses that are compared, beside Location and Set-Cookie.
func responseHeaders() []string {
	return []string{
		"Access-Control-Allow-Credentials", "Access-Control-Allow-Headers", "Access-Control-Allow-Methods",
		"Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Access-Control-Max-Age",
		"Strict-Transport-Security", "Www-Authenticate",
	}
}

// upstreamHeaders are the headers of requests that are compared, beside Host. Those that are new for each request, and
// those of the connection, are not.
func upstreamHeaders() []string {
	return []string{
		"Authorization", "Cookie", "Origin", "X-Code", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Port",
		"X-Forwarded-Prefix", "X-Forwarded-Proto", "X-Forwarded-Scheme", "X-Original-Forwarded-For",
		"X-Original-Forwarded-Host", "X-Original-Uri", "X-Real-Ip", "X-Scheme",
	}
}

// Compare returns the fields in which an answer differs from the wanted one, in a fixed order. What one of the answers
// does not know is not compared.
func Compare(want, got Answer) []Difference {
	c := comparison{}
	endpoints := fromEndpoint(want, got)
	if !endpoints {
		c.text(Status, strconv.Itoa(want.Status), strconv.Itoa(got.Status))
		c.text(Location, want.Header.Get("Location"), got.Header.Get("Location"))
		c.text(Cookie, cookies(want.Header), cookies(got.Header))
	}
	for _, name := range responseHeaders() {
		want, got := value(want.Header, name), value(got.Header, name)
		if !endpoints || want != "" && got != "" {
			c.text(Response+Field(name), want, got)
		}
	}
	if !want.Blind && !got.Blind {
		c.upstream(want.Upstream, got.Upstream)
	}
	return c.found
}

// fromEndpoint reports whether one of the answers has what an endpoint has answered, and the other does not know it.
func fromEndpoint(a, b Answer) bool {
	return a.Blind != b.Blind && (a.Upstream != nil || b.Upstream != nil)
}

type comparison struct{ found []Difference }

func (c *comparison) text(field Field, want, got string) {
	if want != got {
		c.found = append(c.found, Difference{field, want, got})
	}
}

func (c *comparison) upstream(want, got *Upstream) {
	if want == nil || got == nil {
		c.text(Service, services(want), services(got))
		return
	}
	if !overlap(want, got) {
		c.text(Service, services(want), services(got))
	}
	c.text(Method, want.Method, got.Method)
	c.text(Target, want.Target, got.Target)
	c.text(Host, want.Host, got.Host)
	for _, name := range upstreamHeaders() {
		c.text(UpstreamHeader+Field(name), value(want.Header, name), value(got.Header, name))
	}
}

// overlap reports whether one Service may receive both requests. Where both answers leave it to chance, it is between
// the same Services.
func overlap(a, b *Upstream) bool {
	if !a.Certain() && !b.Certain() {
		return services(a) == services(b)
	}
	return slices.ContainsFunc(append([]string{a.Service}, a.Others...), func(one string) bool {
		return one == b.Service || slices.Contains(b.Others, one)
	})
}

// services returns the Services of a request, ordered; empty for none.
func services(u *Upstream) string {
	if u == nil {
		return ""
	}
	all := append([]string{u.Service}, u.Others...)
	slices.Sort(all)
	return strings.Join(all, " or ")
}

// value returns the values of a header in one text.
func value(header http.Header, name string) string { return strings.Join(header[name], ", ") }

// cookies returns the names and attributes of cookies without their values, which are not comparable, ordered.
func cookies(header http.Header) string {
	var all []string
	for _, line := range header["Set-Cookie"] {
		parsed, err := http.ParseSetCookie(line)
		if err != nil {
			all = append(all, line)
			continue
		}
		parsed.Value, parsed.Raw, parsed.RawExpires = "", "", ""
		text := ""
		if !parsed.Expires.IsZero() {
			parsed.Expires, text = time.Time{}, "; Expires"
		}
		all = append(all, parsed.String()+text)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
