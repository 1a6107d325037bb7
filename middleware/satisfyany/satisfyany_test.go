package satisfyany_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/middleware/authrequest"
	"github.com/sluiceproxy/sluice/middleware/basicauth"
	"github.com/sluiceproxy/sluice/middleware/guard"
	"github.com/sluiceproxy/sluice/middleware/ipallowlist"
	"github.com/sluiceproxy/sluice/middleware/ipdenylist"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest"
	"github.com/sluiceproxy/sluice/middleware/middlewaretest/rig"
	"github.com/sluiceproxy/sluice/middleware/satisfyany"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// must returns a middleware that has been built.
func must[M any](step M, err error) M {
	if err != nil {
		panic(err)
	}
	return step
}

func allow(source string) satisfyany.Step {
	return must(ipallowlist.New("allow@file", dynamic.IPAllowList{SourceRange: []string{source}}))
}

func deny(source string) satisfyany.Step {
	return must(ipdenylist.New("deny@file", dynamic.IPDenyList{SourceRange: []string{source}}))
}

// password demands ann's, and names her to the service.
func password() satisfyany.Step {
	return must(basicauth.New("basic@file", dynamic.BasicAuth{
		Users: []string{"ann:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ="}, HeaderField: "X-User", RemoveHeader: true,
	}, basicauth.Options{}))
}

// server starts one that lets requests with a token pass, and answers others with a status.
func server(t testing.TB, status int, signIn string) satisfyany.Step {
	t.Helper()
	decides := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Set-Cookie", "auth=1")
		w.Header().Set("Www-Authenticate", "Bearer")
		w.Header().Set("X-Token-User", "bob")
		if r.Header.Get("X-Token") != "good" {
			w.WriteHeader(status)
		}
	}))
	t.Cleanup(decides.Close)
	step := must(authrequest.New("auth@file", dynamic.AuthRequest{
		URL: decides.URL, ResponseHeaders: []string{"X-Token-User"}, SigninURL: signIn,
	}, authrequest.Options{}))
	t.Cleanup(step.Close)
	return step
}

func one(steps ...satisfyany.Step) satisfyany.Member {
	return satisfyany.Member{Steps: steps, Admits: true}
}

func only(steps ...satisfyany.Step) satisfyany.Member { return satisfyany.Member{Steps: steps} }

const (
	good  = "Authorization: Basic YW5uOnNlY3JldA=="
	wrong = "Authorization: Basic YW5uOmd1ZXNz"
	token = "X-Token: good"
)

// TestDecides has the combinations of nginx's access phase. The client is 192.0.2.1.
func TestDecides(t *testing.T) {
	const here, elsewhere = "192.0.2.0/24", "198.51.100.0/24"
	refusing := func(status int) satisfyany.Step { return server(t, status, "") }
	redirecting := server(t, 401, "https://id.test/?rd=x")
	for name, test := range map[string]struct {
		members []satisfyany.Member
		header  string
		want    string // status, challenges, Location, Set-Cookie; headers at the service
	}{
		"the address":                    {[]satisfyany.Member{one(allow(here)), one(password())}, "", "200 [] [] [] X-Token:"},
		"the password":                   {[]satisfyany.Member{one(allow(elsewhere)), one(password())}, good, "200 [] [] [] X-User:ann"},
		"neither":                        {[]satisfyany.Member{one(allow(elsewhere)), one(password())}, wrong, `401 [Basic realm="traefik", charset="UTF-8"] [] [] -`},
		"403 behind 401":                 {[]satisfyany.Member{one(password()), one(allow(elsewhere))}, "", `401 [Basic realm="traefik", charset="UTF-8"] [] [] -`},
		"all with 403":                   {[]satisfyany.Member{one(allow(elsewhere)), one(refusing(403))}, "", "403 [] [] [] -"},
		"the server":                     {[]satisfyany.Member{one(allow(elsewhere)), one(refusing(401))}, token, "200 [] [] [auth=1] X-Token:good X-Token-User:bob"},
		"both challenge":                 {[]satisfyany.Member{one(password()), one(refusing(401))}, "", `401 [Basic realm="traefik", charset="UTF-8" Bearer] [] [] -`},
		"the server fails":               {[]satisfyany.Member{one(allow(elsewhere)), one(refusing(502)), one(password())}, good, "500 [] [] [] -"},
		"it fails after a challenge":     {[]satisfyany.Member{one(password()), one(refusing(502))}, "", `500 [Basic realm="traefik", charset="UTF-8"] [] [] -`},
		"it fails after the others":      {[]satisfyany.Member{one(password()), one(refusing(502))}, good, "200 [] [] [] X-User:ann"},
		"a redirect for 401":             {[]satisfyany.Member{one(password()), one(redirecting)}, "", `302 [Basic realm="traefik", charset="UTF-8" Bearer] [https://id.test/?rd=x] [auth=1] -`},
		"a redirect before 401":          {[]satisfyany.Member{one(redirecting), one(password())}, "", `302 [Bearer Basic realm="traefik", charset="UTF-8"] [https://id.test/?rd=x] [auth=1] -`},
		"a redirect, then a password":    {[]satisfyany.Member{one(redirecting), one(password())}, good, "200 [] [] [] X-User:ann"},
		"a redirect behind a password":   {[]satisfyany.Member{one(password(), redirecting)}, "", `302 [Basic realm="traefik", charset="UTF-8"] [https://id.test/?rd=x] [] -`},
		"a redirect beside 403":          {[]satisfyany.Member{one(password()), one(server(t, 403, "https://id.test/?rd=x"))}, "", `302 [Basic realm="traefik", charset="UTF-8"] [https://id.test/?rd=x] [] -`},
		"no redirect for 403":            {[]satisfyany.Member{one(allow(elsewhere)), one(server(t, 403, "https://id.test/?rd=x"))}, "", "403 [] [] [] -"},
		"denied":                         {[]satisfyany.Member{only(deny(here)), one(password())}, "", `401 [Basic realm="traefik", charset="UTF-8"] [] [] -`},
		"denied with a password":         {[]satisfyany.Member{only(deny(here)), one(password())}, good, "200 [] [] [] X-User:ann"},
		"not denied is not enough":       {[]satisfyany.Member{only(deny(elsewhere)), one(password())}, "", `401 [Basic realm="traefik", charset="UTF-8"] [] [] -`},
		"not denied by all there is":     {[]satisfyany.Member{only(deny(elsewhere))}, "", "200 [] [] [] X-Token:"},
		"denied by all there is":         {[]satisfyany.Member{only(deny(here))}, "", "403 [] [] [] -"},
		"a chain":                        {[]satisfyany.Member{one(deny(elsewhere), allow(here)), one(password())}, "", "200 [] [] [] X-Token:"},
		"a chain that denies":            {[]satisfyany.Member{one(deny(here), allow(here)), one(password())}, "", `401 [Basic realm="traefik", charset="UTF-8"] [] [] -`},
		"a chain with one that does not": {[]satisfyany.Member{one(allow(here), password())}, "", `401 [Basic realm="traefik", charset="UTF-8"] [] [] -`},
		"an empty chain":                 {[]satisfyany.Member{only()}, good, "403 [] [] [] -"},
	} {
		t.Run(name, func(t *testing.T) {
			step := must(satisfyany.New("any@file", test.members))
			if got := ask(t, step, test.members, test.header); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
			refused := uint64(1)
			if strings.HasPrefix(test.want, "200") {
				refused = 0
			}
			if diff := cmp.Diff(map[string]uint64{"refused": refused}, step.Counts()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// replacer is a step that never takes some headers from the client.
type replacer interface{ Replaces() []string }

// ask sends a request that forges the users of all members, and describes the response.
func ask(t testing.TB, step *satisfyany.SatisfyAny, members []satisfyany.Member, header string) string {
	t.Helper()
	var headers []string
	for _, member := range members {
		for _, one := range member.Steps {
			if replacing, ok := one.(replacer); ok {
				for _, name := range slices.DeleteFunc(slices.Clone(replacing.Replaces()), isAuthorization) {
					headers = append(headers, name+": forged", strings.ReplaceAll(name, "-", "_")+": forged")
				}
			}
		}
	}
	if header != "" {
		headers = append(headers, header)
	}
	atService := "-"
	record := &telemetry.Record{}
	w := httptest.NewRecorder()
	r := middlewaretest.Request(t, "GET /", headers...)
	step.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		atService = "X-Token:" + r.Header.Get("X-Token")
		if user := r.Header.Get("X-User"); user != "" {
			atService = "X-User:" + user
		}
		if user := r.Header.Get("X-Token-User"); user != "" {
			atService += " X-Token-User:" + user
		}
		for name := range r.Header {
			if name == "Authorization" || strings.Contains(name, "_") {
				t.Errorf("the service gets %v", r.Header)
			}
		}
		_, _ = io.WriteString(w, "served")
	})).ServeHTTP(w, r.WithContext(telemetry.WithRecord(r.Context(), record)))
	if passed := w.Code == http.StatusOK; passed != (record.Reason == "") || passed != (w.Body.String() == "served") {
		t.Errorf("status %d, reason %q, body %q", w.Code, record.Reason, w.Body)
	}
	h := w.Header()
	return fmt.Sprint(w.Code, " ", h["Www-Authenticate"], " ", h["Location"], " ", h["Set-Cookie"], " ", atService)
}

func isAuthorization(name string) bool { return name == "Authorization" }

// TestRecord has no user of a member that has refused.
func TestRecord(t *testing.T) {
	step := must(satisfyany.New("any@file", []satisfyany.Member{one(password()), one(allow("192.0.2.0/24"))}))
	record := &telemetry.Record{}
	r := middlewaretest.Request(t, "GET /", wrong)
	step.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).
		ServeHTTP(httptest.NewRecorder(), r.WithContext(telemetry.WithRecord(r.Context(), record)))
	if record.Username != "" || record.Reason != "" || record.Authenticated {
		t.Errorf("%+v", record)
	}
}

// TestGuards is no better than the weakest member.
func TestGuards(t *testing.T) {
	const here = "192.0.2.0/24"
	for name, test := range map[string]struct {
		members []satisfyany.Member
		guards  guard.TrustLevels
		server  bool
	}{
		"a password": {[]satisfyany.Member{one(password())}, guard.Always, false},
		"a password, an address": {
			[]satisfyany.Member{one(password()), one(allow(here))}, guard.TrustedPeers | guard.AnyForwarded, false,
		},
		"an address of everyone": {[]satisfyany.Member{one(password()), one(allow("0.0.0.0/0"))}, 0, false},
		"a list that refuses":    {[]satisfyany.Member{one(password()), only(deny(here))}, guard.Always, false},
		"nothing but that":       {[]satisfyany.Member{only(deny(here))}, 0, false},
		"a chain":                {[]satisfyany.Member{one(password(), allow("0.0.0.0/0"))}, guard.Always, false},
		"a server":               {[]satisfyany.Member{one(password()), one(server(t, 401, ""))}, guard.Always, true},
		"two servers":            {[]satisfyany.Member{one(server(t, 401, "")), one(server(t, 401, ""))}, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			access := must(satisfyany.New("any@file", test.members)).Guards()
			if access.Guards != test.guards || (access.Server != "") != test.server {
				t.Errorf("%+v", access)
			}
		})
	}
}

func TestRefusesDefinitions(t *testing.T) {
	if step, err := satisfyany.New("any@file", nil); step != nil || err == nil ||
		!strings.HasPrefix(err.Error(), "satisfyAny.middlewares is empty") {
		t.Error(step, err)
	}
}

// TestOnTheWire streams bodies in both directions behind a member that has let a request in.
func TestOnTheWire(t *testing.T) {
	rig.Matrix(t, func(t *testing.T, client, upstream string) {
		step := must(satisfyany.New("any@file", []satisfyany.Member{
			one(allow("198.51.100.0/24")), one(server(t, 401, "")), one(password()),
		}))
		g := rig.New(t, rig.Setup{
			Wrap: step.Wrap, Upstream: upstream,
			Endpoint: func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				_, _ = w.Write(body)
			},
		})
		for header, want := range map[string]int{"good": 200, "bad": 401} {
			body := strings.Repeat("0123456789", 10_000)
			response, got, err := g.Do(client, g.Request(http.MethodPost, "/", strings.NewReader(body), "X-Token", header))
			if err != nil || response.StatusCode != want ||
				want == 200 && (got != body || len(response.Header["Set-Cookie"]) != 1) {
				t.Fatalf("%v %v, %d bytes", response, err, len(got))
			}
			g.Record()
		}
	})
}

// TestUpgrades hands over the connection of a request that has been let in.
func TestUpgrades(t *testing.T) {
	step := must(satisfyany.New("any@file", []satisfyany.Member{one(server(t, 401, "")), one(allow("127.0.0.0/8"))}))
	for _, header := range []string{"", token + "\r\n"} {
		g := rig.New(t, rig.Setup{
			Wrap: step.Wrap, Upstream: "h1",
			Endpoint: func(w http.ResponseWriter, _ *http.Request) {
				conn, _, err := http.NewResponseController(w).Hijack()
				if err != nil {
					return
				}
				_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nhello")
				_ = conn.Close()
			},
		})
		_, from := g.Raw("GET / HTTP/1.1\r\nHost: h\r\n" + header + "Connection: Upgrade\r\nUpgrade: x\r\n\r\n")
		response, err := http.ReadResponse(from, nil)
		if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
			t.Fatal(response, err)
		}
		if text, err := io.ReadAll(from); err != nil || string(text) != "hello" {
			t.Errorf("%q, %v", text, err)
		}
	}
}
