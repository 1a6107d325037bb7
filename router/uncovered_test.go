package router

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/immutable"
)

// wantUncovered expects the verdict on hosts without a certificate to list these, and no verdict where that is empty.
func (b *bench) wantUncovered(listed string) {
	b.t.Helper()
	store := ref(dynamic.KindTLSStore, dynamic.DefaultTLSName)
	for _, verdict := range b.compiled.Verdicts {
		if verdict.Ref != store || verdict.Code != dynamic.CodeMissingCertificate {
			continue
		}
		if listed == "" || !strings.Contains(verdict.Reason, "routers with TLS: "+listed+" (first router: ") {
			b.t.Errorf("verdict %q, want one on %q", verdict.Reason, listed)
		}
		if verdict.Status != dynamic.Degraded {
			b.t.Errorf("the verdict is %v, want degraded", verdict.Status)
		}
		return
	}
	if listed != "" {
		b.t.Errorf("no verdict on %q: %v", listed, b.compiled.Verdicts)
	}
}

// certify sets the certificates, for one host each.
func (b *bench) certify(hosts ...string) {
	b.t.Helper()
	b.config.TLS.Certificates = nil
	for i, host := range hosts {
		b.config.TLS.Certificates = append(b.config.TLS.Certificates, &dynamic.CertificateEntry{
			Name: fmt.Sprintf("c%d@file", i), Certificate: selfSigned(b.t, host),
		})
	}
	b.apply(true, ref(dynamic.KindCertificate, "c0@file"))
}

func TestHostsWithoutACertificateAreReported(t *testing.T) {
	b := newBench(t)
	b.secure("shop@file", "Host(`shop.test`) || Host(`www.shop.test`)", "a@internal", "")
	b.secure("path@file", "Host(`shop.test`) && PathPrefix(`/path`)", "a@internal", "")
	b.secure("wild@file", "Host(`*.wild.test`)", "a@internal", "")
	b.secure("blog@file", "Host(`blog.test`)", "a@internal", "")
	b.secure("regexp@file", "HostRegexp(`^a+[.]test$`)", "a@internal", "")
	b.secure("address@file", "Host(`192.0.2.1`)", "a@internal", "")
	b.secure("resolved@file", "Host(`acme.test`)", "a@internal", "")
	b.config.HTTP.Routers.Get("resolved@file").TLS.CertResolver = "later"
	b.router("plain@file", "Host(`plain.test`)", "a@internal")
	b.all()
	b.wantUncovered("*.wild.test, blog.test, shop.test and others")
	b.wantVerdict(ref(dynamic.KindTLSStore, "default"), dynamic.Degraded, "first router: wild@file")

	b.certify("*.wild.test", "blog.test")
	b.wantUncovered("shop.test, www.shop.test")
	b.certify("*.wild.test", "blog.test", "shop.test", "*.shop.test")
	b.wantUncovered("")
	b.certify("*.wild.test", "shop.test", "*.shop.test")
	b.wantUncovered("blog.test")

	routers := b.config.HTTP.Routers
	b.config.HTTP.Routers = routers.Without("blog@file")
	b.apply(true, ref(dynamic.KindRouter, "blog@file"))
	b.wantUncovered("")
	b.config.HTTP.Routers = routers
	b.apply(true, ref(dynamic.KindRouter, "blog@file"))
	b.wantUncovered("blog.test")
}

func TestADefaultCertificateCoversEveryHost(t *testing.T) {
	b := newBench(t)
	b.secure("shop@file", "Host(`shop.test`)", "a@internal", "")
	b.all()
	b.wantUncovered("shop.test")
	store := ref(dynamic.KindTLSStore, dynamic.DefaultTLSName)
	inline := selfSigned(t, "fallback.test")
	b.config.TLS.Stores = immutable.Of(map[string]*dynamic.TLSStore{store.Name: {DefaultCertificate: &inline}})
	b.apply(true, store)
	b.wantUncovered("")
	b.config.TLS.Stores = immutable.Of(map[string]*dynamic.TLSStore{store.Name: {}})
	b.apply(true, store)
	b.wantUncovered("shop.test")
	inline = dynamic.Certificate{CertFile: "/does/not/exist.pem", KeyFile: "/does/not/exist.key"}
	b.config.TLS.Stores = immutable.Of(map[string]*dynamic.TLSStore{store.Name: {DefaultCertificate: &inline}})
	b.apply(true, store)
	b.wantUncovered("")
	b.wantVerdict(store, dynamic.Quarantined, "exist.pem")
}

func TestACertificateOfAnotherEntryPointDoesNotCover(t *testing.T) {
	b := newBench(t)
	b.secure("shop@file", "Host(`shop.test`)", "a@internal", "")
	entry := &dynamic.CertificateEntry{
		Name: "c@file", Certificate: selfSigned(t, "shop.test"), EntryPoints: []string{"web"},
	}
	b.config.TLS.Certificates = []*dynamic.CertificateEntry{entry}
	b.all()
	b.wantUncovered("shop.test")
	own := *entry
	own.EntryPoints = []string{"websecure"}
	b.config.TLS.Certificates = []*dynamic.CertificateEntry{&own}
	b.apply(true, ref(dynamic.KindCertificate, "c@file"))
	b.wantUncovered("")
}
