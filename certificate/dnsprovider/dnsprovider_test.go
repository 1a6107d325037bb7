package dnsprovider_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-acme/lego/v5/challenge/dns01"
	"github.com/go-acme/lego/v5/log"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/certificate/dnsprovider"
)

func TestMain(m *testing.M) {
	var options []goleak.Option
	if slices.Contains(dnsprovider.Names(), "baiducloud") { // Its SDK starts goroutines when it is imported.
		options = append(options, goleak.IgnoreCurrent())
	}
	goleak.VerifyTestMain(m, options...)
}

const elsewhere = "use the provider exec with a program of yours, such as lego's own, or httpreq with a server"

// notLinked is the error about a provider that needs the build tag.
func notLinked(name string) string {
	return fmt.Sprintf("the DNS provider %q is not linked into this build, because it needs large libraries: "+
		"build with the tag sluice_dns_all, or %s", name, elsewhere)
}

func TestNewSaysWhatToDo(t *testing.T) {
	tests := map[string]string{
		"":              "no DNS provider is named",
		"cloudfare":     `unknown DNS provider "cloudfare", did you mean "cloudflare"?`,
		"Cloudflare":    `unknown DNS provider "Cloudflare", did you mean "cloudflare"?`,
		"aliddns":       `unknown DNS provider "aliddns", did you mean "alidns"?`,
		"nothing-alike": `unknown DNS provider "nothing-alike"`,
		"googlecloud":   `the DNS provider "googlecloud" is now "gcloud": ` + notLinked("gcloud"),
		"azure":         `the DNS provider "azure" is now "azuredns": ` + notLinked("azuredns"),
		"iij":           `the DNS provider "iij" is now "iijdpf": ` + notLinked("iijdpf"),
		"rfc2136":       notLinked("rfc2136"),
		"dnspod": `the DNS provider "dnspod" is now "tencentcloud": the DNS provider "tencentcloud" is not linked into any ` +
			`build, because the module github.com/go-acme/tencentclouddnspod cannot be downloaded: ` + elsewhere,
		"googledomains": `the DNS provider "googledomains" has ended, and lego has removed it: ` + elsewhere,
		"alidns": `the DNS provider "alidns" is not linked into any build, because the module ` +
			`github.com/go-acme/alidns-20150109/v5 cannot be downloaded: ` + elsewhere,
		"fastdns": `the DNS provider "fastdns" is not linked into any build, because the module ` +
			`github.com/akamai/AkamaiOPEN-edgegrid-golang/v13 cannot be downloaded: ` + elsewhere,
		"cloudflare": `the DNS provider "cloudflare": cloudflare: some credentials information are missing: ` +
			`CLOUDFLARE_EMAIL,CLOUDFLARE_API_KEY or some credentials information are missing: ` +
			`CLOUDFLARE_DNS_API_TOKEN,CLOUDFLARE_ZONE_API_TOKEN`,
	}
	for name, want := range tests {
		if slices.Contains(dnsprovider.Names(), "azuredns") && strings.Contains(want, "with the tag") {
			continue // The build has the tag.
		}
		got, err := dnsprovider.New(name)
		if got != nil || err == nil || err.Error() != want {
			t.Errorf("%q:\ngot  %v\nwant %s", name, err, want)
		}
	}
}

func TestNewReadsTheEnvironment(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CF_DNS_API_TOKEN_FILE", file)
	t.Setenv("HTTPREQ_ENDPOINT", "http://127.0.0.1:1")
	t.Setenv("EXEC_PATH", "/bin/true")
	for _, name := range []string{"cloudflare", "httpreq", "exec"} {
		if got, err := dnsprovider.New(name); err != nil || got == nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// TestNamesAreMade demands that New has a provider for every name, whatever it may miss in the environment.
func TestNamesAreMade(t *testing.T) {
	names := dnsprovider.Names()
	if len(names) < 170 || !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Fatalf("%d names: %q", len(names), names)
	}
	for _, name := range names {
		if name == "gcloud" || name == "azuredns" {
			continue // They ask servers of their clouds for credentials.
		}
		if _, err := dnsprovider.New(name); err != nil && strings.Contains(err.Error(), "linked") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// lines is a logger that keeps what it is given.
type lines []string

func (l *lines) Debug(message string, pairs ...any) { l.add("debug", message, pairs) }
func (l *lines) Info(message string, pairs ...any)  { l.add("info", message, pairs) }
func (l *lines) Warn(message string, pairs ...any)  { l.add("warn", message, pairs) }
func (l *lines) Error(message string, pairs ...any) { l.add("error", message, pairs) }

func (l *lines) add(level, message string, pairs []any) {
	*l = append(*l, strings.TrimSpace(level+" "+message+" "+strings.Trim(fmt.Sprintf("%q", pairs), "[]")))
}

func TestSetLogger(t *testing.T) {
	before := log.Default()
	defer log.SetDefault(before)
	written := &lines{}
	dnsprovider.SetLogger(written)
	log.Info("found", log.DomainAttr("shop.test"))
	log.Warn("slow", slog.Duration("after", time.Second))
	log.Error("failed", log.ErrorAttr(errors.New(`Get "https://api.test/zone?key=secret": no zone`)))
	log.Default().With("a", "1").WithGroup("g").Debug("detail", "b", "2")
	want := []string{
		`debug found "domain" "shop.test"`, `warn slow "after" "1s"`,
		`error failed "error" "Get \"https://api.test/zone?xxxx\": no zone"`,
		`debug detail "a" "1" "g.b" "2"`,
	}
	if diff := cmp.Diff(want, []string(*written)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSetResolvers(t *testing.T) {
	before := dns01.DefaultClient()
	defer dns01.SetDefaultClient(before)
	dnsprovider.SetResolvers([]string{"127.0.0.1:1"})
	_, err := dns01.DefaultClient().FindZoneByFqdn(t.Context(), "www.shop.test.")
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("got %v", err)
	}
}
