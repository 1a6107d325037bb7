package sticky

import (
	"crypto/tls"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
		"partitioned":              {Partitioned: true, Secure: true},
		"by scheme":                {SecureByScheme: true},
		"balanced":                 {Mode: "balanced"},
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
		"mode":               {dynamic.Cookie{Mode: "sticky"}, `sticky.cookie.mode "sticky" is neither persistent nor balanced`},
		"conditional":        {dynamic.Cookie{SameSite: "lax", ConditionalSameSiteNone: true}, "needs the sameSite none"},
		"expires":            {dynamic.Cookie{Expires: 1 << 60}, "sticky.cookie.expires"},
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

// TestFieldsThatDependOnTheResponse has attributes by scheme, browser and time.
func TestFieldsThatDependOnTheResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := dynamic.Cookie{
			Name: "lb", SecureByScheme: true, HTTPOnly: true, SameSite: "none", ConditionalSameSiteNone: true, MaxAge: 60,
			Partitioned: true, Expires: 3600,
		}
		cookie, err := New("s@file", &config)
		if err != nil {
			t.Fatal(err)
		}
		const expires = "; Expires=Sat, 01 Jan 2000 01:00:00 GMT" // The clock of a bubble begins in that year.
		r := request()
		if got, want := cookie.Set("1", r), "lb=1; Path=/"+expires+
			"; Max-Age=60; HttpOnly; SameSite=None; Partitioned"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		r.TLS = new(tls.ConnectionState)
		if got, want := cookie.Set("1", r), "lb=1; Path=/"+expires+
			"; Max-Age=60; HttpOnly; Secure; SameSite=None; Partitioned"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		config.Expires = -60
		if cookie, err = New("s@file", &config); err != nil {
			t.Fatal(err)
		}
		if got := cookie.Set("1", r); !strings.Contains(got, "; Expires=Fri, 31 Dec 1999 23:59:00 GMT;") {
			t.Error(got)
		}
		time.Sleep(time.Hour) //nolint:forbidigo // within the bubble
		if got := cookie.Set("1", r); !strings.Contains(got, "; Expires=Sat, 01 Jan 2000 00:59:00 GMT;") {
			t.Error(got)
		}
	})
}

func TestBrowsersThatRefuseSameSiteNone(t *testing.T) {
	cookie, err := New("s@file", &dynamic.Cookie{SameSite: "None", ConditionalSameSiteNone: true})
	if err != nil {
		t.Fatal(err)
	}
	const chrome, safari = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/%s Safari/537.36",
		"Mozilla/5.0 (%s) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/12.0 Safari/605.1.15"
	for agent, sent := range map[string]bool{
		"": true, "curl/8": true, fmt.Sprintf(chrome, "51.0"): false, fmt.Sprintf(chrome, "66.0.3359"): false,
		fmt.Sprintf(chrome, "80.0"): true, fmt.Sprintf(chrome, "140.0"): true,
		fmt.Sprintf(safari, "iPhone; CPU iPhone OS 12_2 like Mac OS X"): false,
		fmt.Sprintf(safari, "iPad; CPU OS 12_0 like Mac OS X"):          false,
		fmt.Sprintf(safari, "iPhone; CPU iPhone OS 13_0 like Mac OS X"): true,
		fmt.Sprintf(safari, "Macintosh; Intel Mac OS X 10_14_6"):        false,
		fmt.Sprintf(safari, "Macintosh; Intel Mac OS X 10_15"):          true,
		fmt.Sprintf(chrome, "99 (Macintosh; Intel Mac OS X 10_14_6)"):   true,
	} {
		r := request()
		r.Header.Set("User-Agent", agent)
		if got := strings.Contains(cookie.Set("1", r), "; SameSite=None"); got != sent {
			t.Errorf("%q: the attribute is sent: %t", agent, got)
		}
	}
}

func TestModes(t *testing.T) {
	keep := false
	cookie, err := New("s@file", &dynamic.Cookie{Mode: "balanced", ChangeOnFailure: &keep})
	if err != nil || !cookie.Balanced() || !cookie.Keeps() {
		t.Errorf("%+v, %v", cookie, err)
	}
	config := new(dynamic.Cookie)
	config.SetDefaults()
	if cookie, err = New("s@file", config); err != nil || cookie.Balanced() || cookie.Keeps() {
		t.Errorf("%+v, %v", cookie, err)
	}
	if a, b := Random(), Random(); a == b || len(a) != 16 {
		t.Errorf("%q and %q", a, b)
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
