package router_test

import (
	"crypto/x509"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/router"
)

// newListenerCompiler returns a compiler that has listeners, the static entrypoint web and the service echo@internal.
func newListenerCompiler() (*router.Compiler, *router.ActiveTable) {
	entryPoints := []router.EntryPoint{{Name: "web"}}
	target := router.NewActiveTable(entryPoints)
	return router.NewCompiler(router.Options{
		EntryPoints: entryPoints, Templates: map[string]router.EntryPoint{"": {}, "web": entryPoints[0]},
		Internal: map[string]http.Handler{"echo@internal": http.NotFoundHandler()},
	}, target), target
}

// compileListeners compiles a configuration that holds the objects, and returns the verdicts by object.
func compileListeners(compiler *router.Compiler, objects map[dynamic.Ref]any, certificates ...*dynamic.CertificateEntry,
) map[dynamic.Ref]dynamic.Verdict {
	builder := dynamic.NewBuilder(&dynamic.Configuration{TLS: &dynamic.TLSConfiguration{Certificates: certificates}})
	var changed []dynamic.Ref
	for ref, object := range objects {
		builder.Put(ref, object)
		changed = append(changed, ref)
	}
	for _, entry := range certificates {
		changed = append(changed, certificateRef(entry.Name))
	}
	compiled := compiler.Compile(router.Input{Configuration: builder.Configuration(), Changed: changed, Final: true})
	compiled.Activate(1)
	found := map[dynamic.Ref]dynamic.Verdict{}
	for _, verdict := range compiled.Verdicts {
		found[verdict.Ref] = verdict
	}
	return found
}

// Objects of other providers than a listener's do not get its clients, and are told the same whether it exists or not.
func TestListenersTakeObjectsOfTheirOwnProvider(t *testing.T) {
	t.Parallel()
	type ref = dynamic.Ref
	const own, absent = "shop_https@gw", "none@gw"
	objects := map[ref]any{
		{Kind: dynamic.KindListener, Name: own}: &dynamic.Listener{Address: ":8443", Protocol: dynamic.ListenerHTTPS},
		{Kind: dynamic.KindListener, Name: "tcp@gw"}: &dynamic.Listener{
			Address: ":9000", Protocol: dynamic.ListenerTCP,
		},
		{Kind: dynamic.KindListener, Name: "udp@gw"}: &dynamic.Listener{
			Address: ":9000", Protocol: dynamic.ListenerUDP,
		},
	}
	for name, on := range map[string][]string{
		"own@gw": {own}, "own@internal": {own}, "evil@crd": {own}, "gw@crd": {absent}, "both@crd": {"web", own},
	} {
		objects[ref{Kind: dynamic.KindRouter, Name: name}] = &dynamic.Router{
			EntryPoints: on, Rule: "PathPrefix(`/`)", Service: "echo@internal", Priority: 1000,
		}
	}
	stream, packets := &dynamic.TCPServersLoadBalancer{}, &dynamic.UDPServersLoadBalancer{}
	stream.SetDefaults()
	for _, provider := range []string{"gw", "crd"} {
		objects[ref{Kind: dynamic.KindTCPService, Name: "s@" + provider}] = &dynamic.TCPService{LoadBalancer: stream}
		objects[ref{Kind: dynamic.KindUDPService, Name: "s@" + provider}] = &dynamic.UDPService{LoadBalancer: packets}
		objects[ref{Kind: dynamic.KindTCPRouter, Name: "r@" + provider}] = &dynamic.TCPRouter{
			EntryPoints: []string{"tcp@gw"}, Rule: "HostSNI(`*`)", Service: "s",
		}
		objects[ref{Kind: dynamic.KindUDPRouter, Name: "r@" + provider}] = &dynamic.UDPRouter{
			EntryPoints: []string{"udp@gw"}, Service: "s",
		}
		objects[optionsRef("o@"+provider)] = &dynamic.TLSOptions{EntryPoints: []string{own}}
	}
	pair := issued(t, &x509.Certificate{DNSNames: []string{"a.test"}})
	compiler, target := newListenerCompiler()
	verdicts := compileListeners(compiler, objects,
		&dynamic.CertificateEntry{Name: "c@gw", Certificate: pair, EntryPoints: []string{own}},
		&dynamic.CertificateEntry{Name: "c@crd", Certificate: pair, EntryPoints: []string{own}},
		&dynamic.CertificateEntry{Name: "both@crd", Certificate: pair, EntryPoints: []string{"web", own}})
	refused := func(status dynamic.Status, listener string) dynamic.Verdict {
		return dynamic.Verdict{
			Status: status, Code: dynamic.CodeReferenceNotPermitted,
			Reason: `listener "` + listener + `" takes only objects of its own provider`,
		}
	}
	options := refused(dynamic.Quarantined, own)
	options.Reason = "entryPoints: " + options.Reason
	want := map[ref]dynamic.Verdict{
		{Kind: dynamic.KindRouter, Name: "evil@crd"}:      refused(dynamic.Quarantined, own),
		{Kind: dynamic.KindRouter, Name: "gw@crd"}:        refused(dynamic.Quarantined, absent),
		{Kind: dynamic.KindRouter, Name: "both@crd"}:      refused(dynamic.Degraded, own),
		{Kind: dynamic.KindTCPRouter, Name: "r@crd"}:      refused(dynamic.Quarantined, "tcp@gw"),
		{Kind: dynamic.KindUDPRouter, Name: "r@crd"}:      refused(dynamic.Quarantined, "udp@gw"),
		{Kind: dynamic.KindTLSOptions, Name: "o@crd"}:     options,
		{Kind: dynamic.KindCertificate, Name: "c@crd"}:    refused(dynamic.Quarantined, own),
		{Kind: dynamic.KindCertificate, Name: "both@crd"}: refused(dynamic.Degraded, own),
	}
	for ref, verdict := range verdicts {
		expected := want[ref]
		if verdict.Status != expected.Status || verdict.Code != expected.Code || verdict.Reason != expected.Reason {
			t.Errorf("%v: %v, %s: %q", ref, verdict.Status, verdict.Code, verdict.Reason)
		}
		delete(want, ref)
	}
	for ref := range want {
		t.Errorf("%v: no verdict", ref)
	}
	for _, listing := range target.Table().Routes() {
		on := slices.ContainsFunc(listing.EntryPoints, func(name string) bool { return name != "web" })
		if listing.Provider == "crd" && on {
			t.Errorf("%s is on %v", listing.Name, listing.EntryPoints)
		}
	}
}

// Of listeners with the same address and hostname, the one that was created first serves, whatever their names are.
func TestOldestListenerServes(t *testing.T) {
	t.Parallel()
	compiler, _ := newListenerCompiler()
	old := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	objects := map[dynamic.Ref]any{}
	put := func(name string, created time.Time) {
		objects[dynamic.Ref{Kind: dynamic.KindListener, Name: name}] = &dynamic.Listener{
			Address: ":80", Protocol: dynamic.ListenerHTTP, Hostname: "shop.test", Created: created,
		}
	}
	refused := func(when string, want ...string) {
		t.Helper()
		var got []string
		for ref, verdict := range compileListeners(compiler, objects) {
			if verdict.Code != dynamic.CodeConflictingListener {
				t.Errorf("%s: %v: %s", when, ref, verdict.Reason)
			}
			got = append(got, ref.Name)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: %v are refused, want %v", when, got, want)
		}
	}
	put("shop@gw", old)
	refused("alone")
	put("aaa@gw", old.Add(time.Second))
	refused("a younger one", "aaa@gw")
	put("same@gw", old)
	refused("one of the same time", "aaa@gw", "shop@gw")
	put("aaa@gw", old.Add(-time.Second))
	refused("an older one", "same@gw", "shop@gw")
}

// A listener says which options of its template it does not have, if its clients would notice them.
func TestListenersNameOptionsOfTheirTemplate(t *testing.T) {
	t.Parallel()
	own := []string{router.OptionTLS, router.OptionRedirections, router.OptionHTTP3}
	compiler := router.NewCompiler(router.Options{
		Templates: map[string]router.EntryPoint{"": {}, "edge": {Name: "edge", OwnOptions: own}},
	}, router.NewActiveTable(nil))
	objects := map[dynamic.Ref]any{}
	for i, protocol := range []dynamic.ListenerProtocol{"HTTP", "HTTPS", "TLS", "TCP", "UDP"} {
		objects[dynamic.Ref{Kind: dynamic.KindListener, Name: string(protocol) + "@gw"}] = &dynamic.Listener{
			Address: fmt.Sprintf(":80%02d", i), Protocol: protocol, Template: "edge",
		}
	}
	objects[dynamic.Ref{Kind: dynamic.KindListener, Name: "default@gw"}] = &dynamic.Listener{
		Address: ":9000", Protocol: dynamic.ListenerHTTPS,
	}
	got := map[string]string{}
	for ref, verdict := range compileListeners(compiler, objects) {
		if ref.Kind == dynamic.KindListener {
			got[ref.Name] = verdict.Status.String() + " " + verdict.Reason
		}
	}
	const begin, end = "degraded template: listeners do not take ", ` of the entrypoint "edge"`
	want := map[string]string{
		"HTTP@gw":  begin + "http.redirections" + end,
		"HTTPS@gw": begin + "http.tls, http.redirections, http3" + end,
		"TLS@gw":   begin + "http.tls" + end,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Of listeners that share an address, all have the template of the first one, also in what their routers inherit.
func TestListenersHaveTheTemplateOfTheFirst(t *testing.T) {
	t.Parallel()
	entryPoint := func(name, middleware string) router.EntryPoint {
		return router.EntryPoint{Name: name, Middlewares: []string{middleware}}
	}
	target := router.NewActiveTable(nil)
	compiler := router.NewCompiler(router.Options{
		Templates: map[string]router.EntryPoint{"one": entryPoint("one", "one@gw"), "two": entryPoint("two", "two@gw")},
		Internal:  map[string]http.Handler{"echo@internal": http.NotFoundHandler()},
	}, target)
	middleware := func() *dynamic.Middleware { return &dynamic.Middleware{AddPrefix: &dynamic.AddPrefix{Prefix: "/x"}} }
	listener := func(template, hostname string) *dynamic.Listener {
		return &dynamic.Listener{Address: ":80", Protocol: dynamic.ListenerHTTP, Hostname: hostname, Template: template}
	}
	objects := map[dynamic.Ref]any{
		{Kind: dynamic.KindMiddleware, Name: "one@gw"}: middleware(),
		{Kind: dynamic.KindMiddleware, Name: "two@gw"}: middleware(),
		{Kind: dynamic.KindListener, Name: "a@gw"}:     listener("one", ""),
		{Kind: dynamic.KindListener, Name: "b@gw"}:     listener("two", "b.test"),
		{Kind: dynamic.KindRouter, Name: "b@gw"}: &dynamic.Router{
			EntryPoints: []string{"b@gw"}, Rule: "PathPrefix(`/`)", Service: "echo@internal",
		},
	}
	verdict := compileListeners(compiler, objects)[dynamic.Ref{Kind: dynamic.KindListener, Name: "b@gw"}]
	const want = `template: it has no effect, since the listener "a@gw" of the same address comes first`
	if verdict.Reason != want {
		t.Errorf("the verdict is %q, want %q", verdict.Reason, want)
	}
	for _, listing := range target.Table().Routes() {
		if !slices.Equal(listing.Middlewares, []string{"one@gw"}) {
			t.Errorf("%s has the middlewares %v, want those of the first listener", listing.Name, listing.Middlewares)
		}
	}
}
