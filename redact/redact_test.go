package redact

import (
	"net"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const secret = "s3cr3tOfTheOperator"

// inner is a section of sample.
type inner struct {
	Open   string
	Key    string `secret:"file"`
	Number *int
}

// sample has a field of each sort.
type sample struct {
	Open     string
	Password string            `secret:"true"`
	Users    []string          `secret:"true"`
	Headers  map[string]string `secret:"true"`
	Section  inner             `secret:"true"`
	List     []*inner
	ByName   map[string]inner
	Free     map[string]any `secret:"true"`
	Any      any
	When     time.Time
	Address  netip.AddrPort
	Unknown  string `secret:"perhaps"`
	Raw      []byte `secret:"true"`
	Plain    []byte
	Call     func()
	private  string
}

func number(value int) *int { return &value }

func TestCopy(t *testing.T) {
	when, address := time.Unix(1, 0), netip.MustParseAddrPort("192.0.2.1:80")
	build := func() *sample {
		return &sample{
			Open: "shown", Password: secret, Users: []string{secret, ""}, Headers: map[string]string{
				"X-A":            secret,
				"user:" + secret: "x", "X-Gone": "",
			},
			Section: inner{Open: secret, Key: "/etc/key.pem", Number: number(1)},
			List:    []*inner{nil, {Open: "shown", Key: secret, Number: number(2)}},
			ByName:  map[string]inner{"a/b@file": {Open: "shown"}},
			Free:    map[string]any{"a": map[string]any{"b": []any{secret, 7, true, nil}}, "-----BEGIN " + secret: 1},
			Any:     secret, When: when, Address: address, Unknown: secret, Raw: []byte(secret), Plain: []byte("shown"),
			Call: func() {}, private: secret,
		}
	}
	original := build()
	got := Copy(original)
	want := &sample{
		Open: "shown", Password: Hidden, Users: []string{Hidden, ""}, Headers: map[string]string{
			"X-A":  Hidden,
			Hidden: Hidden, "X-Gone": "",
		},
		Section: inner{Open: Hidden, Key: "/etc/key.pem", Number: number(1)}, List: []*inner{nil, {
			Open: "shown", Key: Hidden,
			Number: number(2),
		}},
		ByName: map[string]inner{"a/b@file": {Open: "shown"}},
		Free:   map[string]any{"a": map[string]any{"b": []any{Hidden, Hidden, Hidden, nil}}, Hidden: Hidden},
		Any:    Hidden, When: when, Address: address, Unknown: Hidden, Raw: []byte(Hidden), Plain: []byte("shown"),
	}
	compare := cmp.Options{cmp.AllowUnexported(sample{}), cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })}
	if diff := cmp.Diff(want, got, compare); diff != "" {
		t.Errorf("copy (-want +got):\n%s", diff)
	}
	got.List[1].Open, got.Users[0], got.Headers["X-A"], *got.List[1].Number = "changed", "changed", "changed", 9
	original.Call, got.Call = nil, nil
	expected := build()
	expected.Call = nil
	if diff := cmp.Diff(expected, original, compare); diff != "" {
		t.Errorf("the original has changed (-want +got):\n%s", diff)
	}
}

func TestCopyOfNothing(t *testing.T) {
	if got := Copy[*sample](nil); got != nil {
		t.Errorf("a copy of no pointer is %v", got)
	}
	if got := Copy[any](nil); got != nil {
		t.Errorf("a copy of nothing is %v", got)
	}
	if got := Copy(sample{}); got.Users != nil || got.Headers != nil {
		t.Errorf("a copy of no list is %#v", got)
	}
	if got, ok := Copy[any](&sample{Password: secret}).(*sample); !ok || got.Password != Hidden {
		t.Errorf("a copy behind an interface is %#v", got)
	}
}

func TestTexts(t *testing.T) {
	tests := []struct{ rule, value, want string }{
		{"", secret, secret},
		{always, "", ""},
		{always, "x", Hidden},
		{file, "/etc/tls/key.pem", "/etc/tls/key.pem"},
		{file, "key.pem", "key.pem"},
		{file, "-----BEGIN PRIVATE KEY-----\n" + secret, Hidden},
		{file, "-----BEGIN PRIVATE KEY----- " + secret, Hidden},
		{file, "ann:$2y$10$" + secret, Hidden},
		{file, "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg", Hidden},
		{file, "/check?token=" + secret, Hidden},
		{file, "//" + secret + "@/x", Hidden},
		{path, "/health", "/health"},
		{path, "//" + secret + "@/x", Hidden},
		{path, "/health?token=" + secret, "/health?" + Hidden},
		{path, "/{status}.html?{url}&of={url}&a=" + secret, "/{status}.html?{url}&of={url}&" + Hidden},
		{path, "/?" + secret + "&of={url}" + secret, "/?" + Hidden},
		{path, "/health#" + secret, "/health#" + Hidden},
		{path, secret, Hidden},
		{path, "http://user:" + secret + "@a.test/", Hidden},
		{whole, "http://192.0.2.1:80", "http://192.0.2.1:80"},
		{whole, "https://a.test/path%2Fx", "https://a.test/path%2Fx"},
		{whole, "http://[2001:db8::1]:80/", "http://[2001:db8::1]:80/"},
		{whole, "http://user:" + secret + "@192.0.2.1:80/?token=" + secret, "http://xxxx@192.0.2.1:80/?xxxx"},
		{whole, "http://" + secret + "@192.0.2.1#" + secret, "http://xxxx@192.0.2.1#xxxx"},
		{whole, "http://user:" + secret + "@127.0.0.1:99999/", Hidden},
		{whole, "https://user:" + secret + "@[::1", Hidden},
		{whole, "//" + secret + "@/%zz", Hidden},
		{whole, "redis:6379", "redis:6379"},
		{whole, "[2001:db8::1]:6379", "[2001:db8::1]:6379"},
		{whole, "admin:" + secret, Hidden},
		{whole, "redis://:" + secret + "@127.0.0.1:6379/0", "redis://xxxx@127.0.0.1:6379/0"},
		{whole, "unix:///var/run/docker.sock", "unix:///var/run/docker.sock"},
		{whole, "mailto:" + secret, Hidden},
		{whole, "http://ann:80/" + secret + "@a.test/", Hidden},
		{whole, "http://" + secret + "/x@a.test/", Hidden},
		{whole, "http://ann:80?" + secret + "@a.test/", Hidden},
		{whole, "redis://ann:12#" + secret + "@a.test:6379/0", Hidden},
		{whole, "http://a.test?a=b#c", "http://a.test?xxxx#xxxx"},
		{whole, "http://a.test?", "http://a.test?xxxx"},
		{whole, "http:///a/b", Hidden},
		{whole, "http://ann@a.test/@scope", "http://xxxx@a.test/@scope"},
		{host, "http://ann:80/" + secret + "@a.test/", Hidden},
		{host, "https://a.test/hook/" + secret, "https://a.test/xxxx"},
		{host, "https://u@a.test?" + secret, "https://xxxx@a.test?xxxx"},
		{host, "collector:4317", "collector:4317"},
		{host, "https://a.test", "https://a.test"},
	}
	for _, test := range tests {
		if got := text(test.value, test.rule); got != test.want {
			t.Errorf("%s: %q is shown as %q, want %q", test.rule, test.value, got, test.want)
		}
	}
}

// FuzzURL demands that nothing of a URL is shown but its scheme, its host and its path, and that what is shown is
// shown as it is when it is read again.
func FuzzURL(f *testing.F) {
	const marker = "SECRET"
	for _, seed := range []string{
		"http://user:SECRET@a.test:80/?SECRET", "http://a.test/?SECRET#SECRET", "SECRET@a.test:80", "user:SECRET",
		"http://[::1]%20:SECRET@x/",
		"http:SECRET@h", "unix://SECRET@/x", "http://a.test//@SECRET?SECRET", "unix:///x?SECRET", "npipe:SECRET",
		"[SECRET]:80",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		shown := URL(value)
		open := ""
		if parsed, err := url.Parse(value); err == nil {
			open = parsed.Scheme + parsed.Host + parsed.Path
		} else if name, _, err := net.SplitHostPort(value); err == nil {
			open = name
		}
		if strings.Contains(shown, marker) && !strings.Contains(strings.ToLower(open), strings.ToLower(marker)) {
			t.Errorf("%q is shown as %q", value, shown)
		}
		if again := URL(shown); shown != Hidden && again != shown {
			t.Errorf("%q is shown as %q, and that as %q", value, shown, again)
		}
	})
}
