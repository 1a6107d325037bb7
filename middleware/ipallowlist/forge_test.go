package ipallowlist

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/entrypoint"
	"github.com/sluiceproxy/sluice/forwarded"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// listed is an address that is let in. Peers have 127.0.0.1, which is not.
const listed = "192.0.2.1"

// claim is a forged header.
type claim struct {
	header  http.Header
	trailer http.Header
}

// claims are the ways in which a client could have its own word taken for a proxy's.
func claims() map[string]claim {
	const name = "X-Forwarded-For"
	said := func(values ...string) claim { return claim{header: http.Header{name: values}} }
	spelt := func(names ...string) claim {
		header := http.Header{}
		for _, name := range names {
			header[name] = []string{listed}
		}
		return claim{header: header}
	}
	return map[string]claim{
		"nothing": {}, "plain": said(listed), "two lines": said(listed, listed), "twice in a line": said(listed + ", " +
			listed),
		"many lines": said(slices.Repeat([]string{listed}, 50)...), "long list": said(strings.Repeat(listed+",", 5000) +
			listed),
		"long garbage": said(strings.Repeat("x", 50000) + ", " + listed), "commas": said(strings.Repeat(",", 5000) + listed),
		"without spaces": said(listed + "," + listed), "spaces": said("  " + listed + " \t ,\t " + listed + "  "),
		"spaces for commas": said(listed + " " + listed),
		"port":              said(listed + ":80"), "ports": said(listed+":80, "+listed+":0", listed+":99999"),
		"mapped":                said("::ffff:" + listed),
		"mapped in hexadecimal": said("::ffff:c000:0201"), "mapped, brackets and port": said("[::ffff:" + listed + "]:443"),
		"brackets": said("[" + listed + "]"),
		"zone":     said("::ffff:" + listed + "%eth0"), "zone with a comma": said("::ffff:" + listed + "%a," + listed),
		"unknown": said("unknown, " + listed), "hidden": said("_hidden, " + listed),
		"for=": said("for=" + listed), "for= quoted": said(`for="` + listed + `:80";proto=http`),
		"quoted": said(`"` + listed + `"`), "quoted comma": said(`"x, ` + listed + `"`),
		"semicolons": said(listed + ";" + listed), "octal": said("0300.0.02.01"), "leading zeros": said("192.000.002.001"),
		"decimal":     said("3221225985"),
		"hexadecimal": said("0xc0.0.2.1"), "short": said("192.0.513"), "prefix": said("192.0.2.0/24"), "wildcard": said("*"),
		"empty":       said(""),
		"empty lines": said("", "", listed, ""), "trailing comma": said(listed + ","), "leading comma": said("," + listed),
		"backslash":      said(`\` + listed),
		"Unicode digits": said("１９２.0.2.1"), "localhost": said("localhost"), "null": said("null"),
		"name":       said("192.0.2.1.example.com"),
		"lower case": spelt("x-forwarded-for"), "upper case": spelt("X-FORWARDED-FOR"), "alias": spelt("X_Forwarded_For"),
		"lower-case alias": spelt("x_forwarded_for"),
		"partial alias":    spelt("X-Forwarded_For"), "other partial alias": spelt("X_Forwarded-For"),
		"plain and alias": spelt(name, "X_FORWARDED_FOR"),
		"all spellings":   spelt(name, "x-Forwarded-For", "X-forwarded_for", "x_forwarded_for"),
		"other headers": spelt("X-Real-Ip", "X_Real_Ip", "Client-Ip", "True-Client-Ip", "X-Client-Ip", "X-Cluster-Client-Ip",
			"Cf-Connecting-Ip", "X-Original-Forwarded-For", "Forwarded-For", "X-Forwarded"),
		"Forwarded": {header: http.Header{"Forwarded": {"for=" + listed + ";by=" + listed, `for="[::ffff:` + listed +
			`]:80"`}}},
		"Connection": {header: http.Header{name: {listed}, "Connection": {name + ", X-Real-Ip"}}},
		"a trailer":  {trailer: http.Header{name: {listed}, "x_forwarded_for": {listed}}},
		"header and trailer": {
			header: http.Header{name: {listed}}, trailer: http.Header{name: {listed}},
		},
	}
}

// TestForgedListsWidenNothing has clients with forged addresses, directly at an entrypoint that does not trust them and
// through a trusted proxy that appends the client.
func TestForgedListsWidenNothing(t *testing.T) {
	subnet := 64
	for name, strategy := range map[string]*dynamic.IPStrategy{
		"none": nil, "empty": {}, "depth 1": {Depth: 1}, "depth 2": {Depth: 2},
		"excluded": {ExcludedIPs: []string{"10.0.0.0/8", "127.0.0.1"}},
		"subnet":   {IPv6Subnet: &subnet}, "depth 1 and subnet": {Depth: 1, IPv6Subnet: &subnet},
	} {
		list := build(t, dynamic.IPAllowList{SourceRange: []string{listed, "2001:db8::/32"}, IPStrategy: strategy})
		wary, trusting := listen(t, list), listen(t, list, "127.0.0.0/8")
		attempts, passed := 0, 0
		for _, protocol := range []string{"h1", "h2c"} {
			client := newClient(t, protocol)
			for way, claim := range claims() {
				if claim.header["Connection"] != nil && protocol == "h2c" {
					continue // It does not exist there.
				}
				attempts++
				if status := send(t, client, wary, claim); status != http.StatusForbidden {
					passed++
					t.Errorf("%s, %s, %s: an unknown peer gets %d", name, protocol, way, status)
				}
				behind := "198.51.100.1"
				if strategy != nil && strategy.Depth == 2 {
					behind += ", 10.0.0.1"
				}
				for i, honest := range appended(claim, behind) {
					attempts++
					if status := send(t, client, trusting, honest); status != http.StatusForbidden {
						passed++
						t.Errorf("%s, %s, %s, appended in way %d: a client gets %d", name, protocol, way, i, status)
					}
				}
			}
		}
		if attempts < 300 || passed > 0 {
			t.Errorf("%s: %d of %d attempts pass", name, passed, attempts)
		}
		if got := list.Counts()["refused"]; got != uint64(attempts-passed) {
			t.Errorf("%s: %d are counted as refused, of %d", name, got, attempts)
		}
	}
}

// TestListedClientsPass has clients that are listed come through a proxy: whatever they claim does not keep them out
// either.
func TestListedClientsPass(t *testing.T) {
	for name, strategy := range map[string]*dynamic.IPStrategy{
		"depth":    {Depth: 2},
		"excluded": {ExcludedIPs: []string{"10.0.0.0/8"}},
	} {
		address := listen(t, build(t, dynamic.IPAllowList{SourceRange: []string{listed}, IPStrategy: strategy}),
			"127.0.0.0/8")
		for _, protocol := range []string{"h1", "h2c"} {
			client := newClient(t, protocol)
			for way, claim := range claims() {
				if claim.header["Connection"] != nil && protocol == "h2c" {
					continue
				}
				for i, honest := range appended(claim, listed+", 10.0.0.1") {
					if status := send(t, client, address, honest); status != http.StatusTeapot {
						t.Errorf("%s, %s, %s, appended in way %d: a client gets %d", name, protocol, way, i, status)
					}
				}
			}
		}
	}
}

// appended returns the headers after a proxy, which uses one spelling, and appends a line or to the last one.
func appended(said claim, client string) []claim {
	const name = "X-Forwarded-For"
	line := http.Header{}
	for given, values := range said.header {
		if http.CanonicalHeaderKey(given) == name {
			given = name
		}
		line[given] = append(line[given], values...)
	}
	list := line.Clone()
	line[name] = append(line[name], client)
	if lines := list[name]; len(lines) > 0 {
		list[name] = append(lines[:len(lines)-1:len(lines)-1], lines[len(lines)-1]+", "+client)
	} else {
		list[name] = []string{client}
	}
	return []claim{{header: line, trailer: said.trailer}, {header: list, trailer: said.trailer}}
}

// listen starts an entrypoint with the list in front of a teapot, and returns its address.
func listen(t *testing.T, list *IPAllowList, trusted ...string) (address string) {
	t.Helper()
	config := new(static.EntryPoint)
	config.SetDefaults()
	config.Address = "127.0.0.1:0"
	var err error
	if config.ForwardedHeaders.TrustedIPs, err = forwarded.ParseRanges(trusted...); err != nil {
		t.Fatal(err)
	}
	handler := list.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusTeapot)
	}))
	web, err := entrypoint.New("web", config, handler, nil, entrypoint.Dependencies{Logger: telemetry.Discard{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := web.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return web.Addr().String()
}

func newClient(t *testing.T, protocol string) *http.Client {
	t.Helper()
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetHTTP1(protocol == "h1")
	transport.Protocols.SetUnencryptedHTTP2(protocol == "h2c")
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func send(t *testing.T, client *http.Client, address string, said claim) (status int) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header, r.Trailer = said.header.Clone(), said.trailer.Clone()
	if r.Header == nil {
		r.Header = http.Header{}
	}
	if r.Trailer != nil {
		r.ContentLength = -1
	}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	return response.StatusCode
}
