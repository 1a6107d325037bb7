package answer_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/migrate/answer"
)

func forwarded(change func(*answer.Answer)) answer.Answer {
	one := answer.Answer{
		Status: 200, Header: http.Header{}, Step: answer.Forward,
		Upstream: &answer.Upstream{
			Service: "web/shop:80", Method: http.MethodGet, Target: "/a", Host: "a.example", Header: http.Header{},
		},
	}
	change(&one)
	return one
}

func same(*answer.Answer) {}

func TestCompare(t *testing.T) {
	for name, test := range map[string]struct {
		want, got func(*answer.Answer)
		differs   []answer.Difference
	}{
		"equal":  {same, same, nil},
		"status": {same, func(a *answer.Answer) { a.Status = 404 }, []answer.Difference{{answer.Status, "200", "404"}}},
		"Location": {
			same, func(a *answer.Answer) { a.Header.Set("Location", "/b") },
			[]answer.Difference{{answer.Location, "", "/b"}},
		},
		"the value of a cookie": {
			func(a *answer.Answer) { a.Header.Set("Set-Cookie", "id=1; Path=/; HttpOnly") },
			func(a *answer.Answer) { a.Header.Set("Set-Cookie", "id=2; Path=/; HttpOnly") }, nil,
		},
		"when a cookie expires": {
			func(a *answer.Answer) { a.Header.Set("Set-Cookie", "id=1; Expires=Wed, 01 Jan 2031 10:00:00 GMT") },
			func(a *answer.Answer) { a.Header.Set("Set-Cookie", "id=1; Expires=Wed, 01 Jan 2031 10:00:07 GMT") }, nil,
		},
		"an attribute of a cookie": {
			func(a *answer.Answer) { a.Header.Set("Set-Cookie", "id=1; Path=/a; Secure") },
			func(a *answer.Answer) { a.Header.Set("Set-Cookie", "id=1; Path=/a") },
			[]answer.Difference{{answer.Cookie, "id=; Path=/a; Secure", "id=; Path=/a"}},
		},
		"CORS": {
			func(a *answer.Answer) { a.Header.Set("Access-Control-Allow-Origin", "*") }, same,
			[]answer.Difference{{answer.Response + "Access-Control-Allow-Origin", "*", ""}},
		},
		"a header that is not compared": {same, func(a *answer.Answer) { a.Header.Set("Date", "now") }, nil},
		"target": {
			same, func(a *answer.Answer) { a.Upstream.Target = "/b" }, []answer.Difference{{answer.Target, "/a", "/b"}},
		},
		"Host": {
			same, func(a *answer.Answer) { a.Upstream.Host = "b" }, []answer.Difference{{answer.Host, "a.example", "b"}},
		},
		"upstream header": {
			same, func(a *answer.Answer) { a.Upstream.Header.Set("X-Real-IP", "192.0.2.1") },
			[]answer.Difference{{answer.UpstreamHeader + "X-Real-Ip", "", "192.0.2.1"}},
		},
		"no endpoint": {
			same, func(a *answer.Answer) { a.Status, a.Upstream = 503, nil },
			[]answer.Difference{{answer.Status, "200", "503"}, {answer.Service, "web/shop:80", ""}},
		},
		"service": {
			same, func(a *answer.Answer) { a.Upstream.Service = "web/other:80" },
			[]answer.Difference{{answer.Service, "web/shop:80", "web/other:80"}},
		},
		"one of two services": {
			func(a *answer.Answer) { a.Upstream.Others = []string{"web/canary:80"} },
			func(a *answer.Answer) { a.Upstream.Service = "web/canary:80" }, nil,
		},
		"chance between other services": {
			func(a *answer.Answer) { a.Upstream.Others = []string{"web/canary:80"} },
			func(a *answer.Answer) { a.Upstream.Others = []string{"web/third:80"} },
			[]answer.Difference{{answer.Service, "web/canary:80 or web/shop:80", "web/shop:80 or web/third:80"}},
		},
		"an endpoint's status": {
			same, func(a *answer.Answer) { a.Status, a.Upstream, a.Blind = 500, nil, true }, nil,
		},
		"a status of the proxy": {
			func(a *answer.Answer) { a.Status, a.Upstream = 403, nil },
			func(a *answer.Answer) { a.Status, a.Upstream, a.Blind = 200, nil, true },
			[]answer.Difference{{answer.Status, "403", "200"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.differs, answer.Compare(forwarded(test.want), forwarded(test.got))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
