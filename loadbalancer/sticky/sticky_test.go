package sticky

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
)

// update writes what the tests get into testdata.
var update = flag.Bool("update", false, "write the golden files")

func text(s string) *string { return &s }

// The values are what Traefik gives out for the same names.
func TestNamesAndValuesAreThoseOfTraefik(t *testing.T) {
	cookie, err := New("whoami@docker", nil)
	if err != nil {
		t.Fatal(err)
	}
	const server = "http://10.0.1.1:8080"
	for what, pair := range map[string][2]string{
		"default name":   {cookie.Name(), "_633ff"},
		"default field":  {cookie.Set("00ff", request()), "_633ff=00ff; Path=/"},
		"id of a server": {ID(server), "205af0fb8339f216"},
		"id of a child":  {ID("default-whoami-80"), "3c7eb0accfc70196"},
		"aliases":        {strings.Join(Aliases(server), " "), server + " 5cafe4b06afe2e1b 31d31929345e040c"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: %q, want %q", what, pair[0], pair[1])
		}
	}
}

func TestSetCookieFields(t *testing.T) {
	configs := map[string]*dynamic.Cookie{
		"no options":               {},
		"name":                     {Name: "session"},
		"name with odd characters": {Name: "my cookie(1)=ä/x!#$%&'*+-.^`|~_"},
		"secure, httpOnly":         {Secure: true, HTTPOnly: true},
		"sameSite none":            {SameSite: "none", Secure: true},
		"sameSite in capitals":     {SameSite: "LAX"},
		"sameSite strict":          {SameSite: "Strict"},
		"maxAge":                   {MaxAge: 3600},
		"maxAge below 0":           {MaxAge: -1},
		"path":                     {Path: text("/app/")},
		"no path":                  {Path: text("")},
		"domain":                   {Domain: "example.com"},
		"domain with a dot":        {Domain: ".example.com"},
		"address as domain":        {Domain: "192.0.2.1"},
		"everything": {
			Name: "lb", Secure: true, HTTPOnly: true, SameSite: "lax", MaxAge: 60, Path: text("/a b"), Domain: "Example.COM",
		},
	}
	var got strings.Builder
	names := make([]string, 0, len(configs))
	for name := range configs {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		cookie, err := New("whoami@file", configs[name])
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		fmt.Fprintf(&got, "%s: %s\n", name, cookie.Set(ID("http://192.0.2.1:80"), request()))
	}
	const golden = "testdata/set-cookie.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Error(diff)
	}
}

// A browser would take what follows for another attribute or another field, or would not keep the cookie.
func TestOptionsThatNoCookieCanHaveAreErrors(t *testing.T) {
	for name, row := range map[string]struct {
		config dynamic.Cookie
		want   string
	}{
		"line break in name": {dynamic.Cookie{Name: "a\r\nSet-Cookie: b"}, "sticky.cookie.name"},
		"semicolon in name":  {dynamic.Cookie{Name: "a;b"}, "sticky.cookie.name"},
		"line break in path": {dynamic.Cookie{Path: text("/\r\nX: y")}, "sticky.cookie.path"},
		"semicolon in path":  {dynamic.Cookie{Path: text("/; Domain=x.test")}, "sticky.cookie.path"},
		"umlaut in path":     {dynamic.Cookie{Path: text("/ä")}, "percent-encoded"},
		"NUL in domain":      {dynamic.Cookie{Domain: "x\x00.test"}, "sticky.cookie.domain"},
		"semicolon, domain":  {dynamic.Cookie{Domain: "x.test; Secure"}, "sticky.cookie.domain"},
		"URL as domain":      {dynamic.Cookie{Domain: "http://x.test"}, "neither a host name nor an address"},
		"port in domain":     {dynamic.Cookie{Domain: "x.test:80"}, "neither a host name nor an address"},
		"empty label":        {dynamic.Cookie{Domain: "x..test"}, "neither a host name nor an address"},
		"IPv6 as domain":     {dynamic.Cookie{Domain: "2001:db8::1"}, "neither a host name nor an address"},
		"numbers as domain":  {dynamic.Cookie{Domain: "1.2"}, "neither a host name nor an address"},
		"sameSite":           {dynamic.Cookie{SameSite: "laxx"}, `sticky.cookie.sameSite is none of none, lax and strict`},
	} {
		_, err := New("s@file", &row.config)
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want an error with %q", name, err, row.want)
		}
	}
}

func TestEqualOptionsMakeEqualCookies(t *testing.T) {
	one, _ := New("s@file", &dynamic.Cookie{SameSite: "lax"})
	same, _ := New("s@file", &dynamic.Cookie{SameSite: "LAX", Path: text("/")})
	other, _ := New("s@file", &dynamic.Cookie{SameSite: "lax", Secure: true})
	if one != same || one == other {
		t.Errorf("%v, %v and %v: the first two are equal, the third is not", one, same, other)
	}
}

func request(fields ...string) *http.Request {
	return &http.Request{Header: http.Header{"Cookie": fields}}
}

func TestValuesOfRequests(t *testing.T) {
	cookie, err := New("s@file", &dynamic.Cookie{Name: "lb"})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		fields []string
		want   []string
	}{
		{nil, nil},
		{[]string{"lb=one"}, []string{"one"}},
		{[]string{"a=b; lb=one; c=d"}, []string{"one"}},
		{[]string{"a=b;lb=one"}, []string{"one"}},
		{[]string{"lb=one; lb=two", "lb=three"}, []string{"one", "two", "three"}},
		{[]string{`lb="one"`}, []string{"one"}},
		{[]string{"lb=http://10.0.0.1:80/a=b"}, []string{"http://10.0.0.1:80/a=b"}},
		{[]string{"lb=; lb=\"\"; lb; =lb; LB=x; xlb=y; lbx=z; a=lb=w"}, nil},
		{[]string{" \tlb = one \t; ;;"}, []string{"one"}},
	} {
		r := request(row.fields...)
		if got := slices.Collect(cookie.Values(r)); !slices.Equal(got, row.want) {
			t.Errorf("%q: %q, want %q", row.fields, got, row.want)
		}
	}
}

func TestTheZeroCookieMatchesNothing(t *testing.T) {
	var cookie Cookie
	if got := slices.Collect(cookie.Values(request("=x; ; a=b"))); len(got) > 0 {
		t.Errorf("values %q of a cookie without a name", got)
	}
}

func TestReadingValuesAllocatesNothing(t *testing.T) {
	cookie, _ := New("s@file", nil)
	r := request("a=b; c=d; " + cookie.Name() + "=stranger; " + cookie.Name() + "=00112233aabbccdd")
	known := map[string]int{"00112233aabbccdd": 1}
	found := 0
	if n := testing.AllocsPerRun(100, func() {
		for value := range cookie.Values(r) {
			if server, ok := known[value]; ok {
				found += server
				break
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if found == 0 {
		t.Error("nothing was found")
	}
}

// What net/http finds in a Cookie field is found here too, in the same order. Blanks around a value belong to none.
func FuzzValues(f *testing.F) {
	for _, seed := range []string{
		"lb=one", "a=b; lb=\"x\"", "lb=;lb=2", "lb==;", "lb=a b", "\tlb\t=\t1", `lb="`,
		"lb=\"\"\"",
	} {
		f.Add(seed)
	}
	cookie, err := New("s@file", &dynamic.Cookie{Name: "lb"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, field string) {
		if strings.ContainsAny(field, "\r\n") {
			return // No field holds a line break.
		}
		r := request(field)
		ours := slices.Collect(cookie.Values(r))
		for i := range ours {
			ours[i] = strings.TrimSpace(ours[i])
		}
		rest := ours
		for _, theirs := range r.CookiesNamed("lb") {
			value := strings.TrimSpace(theirs.Value)
			if value == "" {
				continue
			}
			at := slices.Index(rest, value)
			if at < 0 {
				t.Fatalf("%q: %q, which lacks %q", field, ours, value)
			}
			rest = rest[at+1:]
		}
	})
}
