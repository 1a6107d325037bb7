package identity

import (
	"net/url"
	"os"
	"slices"
)

// row is a header that identifies clients.
type row struct {
	// kind is the name of the router and of its middleware.
	kind, header string
	// want is the required value; nil means absent.
	want func(l lane, target string) []string
	// claimed is set if a trusted peer may set the header, too.
	claimed bool
	// asked is set if the header is sent to the authorization server instead of the endpoint.
	asked bool
}

func nothing(lane, string) []string { return nil }

func always(values ...string) func(lane, string) []string {
	return func(lane, string) []string { return values }
}

func rows() []row {
	server, _ := os.Hostname()
	host := func(kind string) func(lane, string) []string {
		return func(l lane, _ string) []string { return []string{kind + "-" + l.upstream + ".test"} }
	}
	proto := func(l lane, _ string) []string { return []string{l.scheme()} }
	port := func(l lane, _ string) []string { return []string{l.port()} }
	pem := func(l lane, _ string) []string { return l.ifKnown(l.world.pem) }
	common := func(l lane, _ string) []string { return l.ifKnown(url.QueryEscape(`Subject="CN=ann"`)) }
	return []row{
		{kind: "basic", header: "X-Forwarded-User", want: always("ann")},
		{kind: "digest", header: "X-Digest-User", want: always("ann")},
		{kind: "forward", header: "X-Auth-User", want: always("ann")},
		{kind: "forward", header: "X-Auth-Login", want: always("ann")},
		{kind: "forward", header: "X-Auth-Absent", want: nothing},
		{kind: "forward", header: "X-Rx-User", want: always("ann")},
		{kind: "forward", header: "X-Rx-Role", want: nothing},
		{kind: "forward", header: "X-Forwarded-For", want: always("127.0.0.1"), claimed: true, asked: true},
		{kind: "forward", header: "X-Forwarded-Host", want: host("forward"), claimed: true, asked: true},
		{kind: "forward", header: "X-Forwarded-Proto", want: proto, claimed: true, asked: true},
		{kind: "forward", header: "X-Forwarded-Method", want: always("POST"), claimed: true, asked: true},
		{kind: "forward", header: "X-Forwarded-Uri", want: func(_ lane, target string) []string {
			return []string{target}
		}, claimed: true, asked: true},
		{kind: "forward", header: "X-Real-Ip", want: always("127.0.0.1"), claimed: true, asked: true},
		{kind: "token", header: "X-Jwt-Sub", want: always("ann")},
		{kind: "token", header: "X-Jwt-Absent", want: nothing},
		{kind: "certificate", header: "X-Forwarded-Tls-Client-Cert", want: pem},
		{kind: "certificate", header: "X-Forwarded-Tls-Client-Cert-Info", want: common},
		{kind: "stripped", header: "X-Forwarded-Prefix", want: always("/api"), claimed: true},
		{kind: "replaced", header: "X-Replaced-Path", want: always("/api/x"), claimed: true},
		{kind: "tenant", header: "X-Tenant", want: always("blue")},
		{kind: "nobody", header: "X-Admin", want: nothing},
		{kind: "bare", header: "X-Forwarded-For", want: always("127.0.0.1"), claimed: true},
		{kind: "bare", header: "Forwarded", want: nothing, claimed: true},
		{kind: "bare", header: "X-Forwarded-Host", want: host("bare"), claimed: true},
		{kind: "bare", header: "X-Forwarded-Proto", want: proto, claimed: true},
		{kind: "bare", header: "X-Forwarded-Port", want: port, claimed: true},
		{kind: "bare", header: "X-Forwarded-Server", want: always(server), claimed: true},
		{kind: "bare", header: "X-Real-Ip", want: always("127.0.0.1"), claimed: true},
		{kind: "bare", header: "X-Forwarded-Prefix", want: nothing, claimed: true},
		{kind: "bare", header: "X-Replaced-Path", want: nothing, claimed: true},
		{kind: "bare", header: "X-Forwarded-Method", want: nothing, claimed: true},
		{kind: "bare", header: "X-Forwarded-Uri", want: nothing, claimed: true},
		{kind: "bare", header: "X-Forwarded-Scheme", want: nothing, claimed: true},
		{kind: "bare", header: "X-Scheme", want: nothing, claimed: true},
		{kind: "bare", header: "X-Forwarded-Tls-Client-Cert", want: nothing, claimed: true},
		{kind: "bare", header: "X-Forwarded-Tls-Client-Cert-Info", want: nothing, claimed: true},
	}
}

// kinds returns the kinds of the rows, once each.
func kinds() []string { return distinct(func(r row) string { return r.kind }) }

// headers returns the headers of the rows, once each.
func headers() []string { return distinct(func(r row) string { return r.header }) }

func distinct(of func(row) string) []string {
	var all []string
	for _, r := range rows() {
		all = append(all, of(r))
	}
	slices.Sort(all)
	return slices.Compact(all)
}
