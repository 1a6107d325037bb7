package translation

import (
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/dynamic"
)

// declared is a cluster of TLS options that are all named default.
type declared map[Source]*dynamic.TLSOptions

func (d declared) translate(source Source) (Result, bool) {
	options, ok := d[source]
	if !ok {
		return Result{}, false
	}
	result := Result{Origin: dynamic.Origin{Object: source.String()}}
	result.Put(dynamic.Ref{Kind: dynamic.KindTLSOptions, Name: dynamic.DefaultTLSName}, options)
	return result, true
}

// refused returns why the default options are not used, and which other objects get a verdict.
func refused(configuration *dynamic.Configuration) (reason string, judged []string) {
	for _, verdict := range configuration.Verdicts {
		if verdict.Ref.Kind == dynamic.KindTLSOptions && verdict.Status == dynamic.Quarantined {
			reason = verdict.Reason
		} else {
			judged = append(judged, verdict.Ref.Name)
		}
	}
	return reason, judged
}

// TestDefaultTLSOptionsOfTwoNamespaces proves that no namespace can replace the default TLS options of another one, and
// that both learn of it.
func TestDefaultTLSOptionsOfTwoNamespaces(t *testing.T) {
	const kind = "TLSOption.traefik.io"
	admin, shop := Source{kind, "admin", "default"}, Source{kind, "shop", "default"}
	strict, lax := &dynamic.TLSOptions{MinVersion: "VersionTLS13"}, &dynamic.TLSOptions{MinVersion: "VersionTLS10"}
	cluster := declared{}
	memory := New("kubernetescrd", []string{kind}, nil)
	step := func(what string, source Source, options *dynamic.TLSOptions, want string, wantJudged ...string) {
		t.Helper()
		if cluster[source] = options; options == nil {
			delete(cluster, source)
		}
		memory.Touch(source)
		configuration, _ := memory.Update(cluster.translate)
		reason, judged := refused(configuration)
		if reason != want || strings.Join(judged, ",") != strings.Join(wantJudged, ",") {
			t.Errorf("%s: the options are refused for %q, and %q get verdicts; want %q and %q",
				what, reason, judged, want, wantJudged)
		}
	}
	const byShop = "is declared otherwise by TLSOption.traefik.io shop/default, so neither is used"
	step("alone", shop, strict, "")
	step("a first one that comes later", admin, lax, byShop, shop.String())
	step("the same words", admin, &dynamic.TLSOptions{MinVersion: "VersionTLS13"}, "")
	step("other words again", shop, lax, byShop, shop.String())
	step("the first one gone", admin, nil, "")
	step("and back", admin, strict, byShop, shop.String())
	step("the other one gone", shop, nil, "")
}
