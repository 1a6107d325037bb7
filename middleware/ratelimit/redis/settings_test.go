package redis

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	ptypes "github.com/traefik/paerser/types"

	"github.com/sluiceproxy/sluice/dynamic"
)

func duration(d time.Duration) *ptypes.Duration {
	value := ptypes.Duration(d)
	return &value
}

func TestDefaults(t *testing.T) {
	for name, config := range map[string]*dynamic.Redis{"nil": nil, "empty": {}} {
		s, err := newSettings(config, nil)
		if err != nil {
			t.Fatal(err)
		}
		options := s.options
		got := []any{
			options.Addrs, options.DB, options.PoolSize, options.ReadTimeout, options.WriteTimeout,
			options.DialTimeout, options.TLSConfig == nil,
		}
		want := []any{[]string{"localhost:6379"}, 0, 0, 3 * time.Second, 3 * time.Second, 5 * time.Second, true}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestOptions(t *testing.T) {
	s, err := newSettings(&dynamic.Redis{
		Endpoints: []string{"a:1", "[::1]:65535"}, Username: "u", Password: "p", PoolSize: 7, MinIdleConns: 2,
		MaxActiveConns: 5,
		ReadTimeout:    duration(0), WriteTimeout: duration(-1), DialTimeout: duration(0), TLS: &dynamic.ClientTLS{},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	options := s.options
	got := []any{
		options.Addrs, options.Username, options.Password, options.PoolSize, options.MinIdleConns, options.MaxActiveConns,
		options.ReadTimeout, options.WriteTimeout, options.DialTimeout, options.TLSConfig != nil,
	}
	// No timeout is -1 for the library, and connecting ends with the probe that does it.
	want := []any{
		[]string{"a:1", "[::1]:65535"},
		"u", "p", 5, 2, 5, time.Duration(-1), time.Duration(-1), probeTimeout,
		true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestErrorsNameTheOption(t *testing.T) {
	folder := t.TempDir()
	empty := filepath.Join(folder, "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for want, config := range map[string]dynamic.Redis{
		`rateLimit.redis.endpoints[0] "redis" is not host:port`: {Endpoints: []string{"redis"}},
		`rateLimit.redis.endpoints[0] ":6379" is not host:port`: {Endpoints: []string{":6379"}},
		`rateLimit.redis.endpoints[1] "b:70000" has a port that is not between`: {Endpoints: []string{
			"a:1",
			"b:70000",
		}},
		`rateLimit.redis.endpoints[0] "b:0" has a port`:                                 {Endpoints: []string{"b:0"}},
		`rateLimit.redis.endpoints[0] is not host:port; user, password and TLS are opt`: {Endpoints: []string{"redis://u:hunter2@h:1"}},
		`rateLimit.redis.endpoints[0] is not host:port; user, password and TLS are`:     {Endpoints: []string{"hunter2@h:1"}},
		`rateLimit.redis.endpoints[1] "/run/redis" is a socket`: {Endpoints: []string{
			"a:1",
			"/run/redis",
		}},
		`rateLimit.redis.db -1 is negative`: {DB: -1},
		`rateLimit.redis.db 2: several endpoints are those of a cluster`: {DB: 2, Endpoints: []string{
			"a:1",
			"b:1",
		}},
		`rateLimit.redis.poolSize -2 is negative`:                              {PoolSize: -2},
		`rateLimit.redis.minIdleConns -3 is negative`:                          {MinIdleConns: -3},
		`rateLimit.redis.maxActiveConns -4 is negative`:                        {MaxActiveConns: -4},
		`rateLimit.redis.username needs rateLimit.redis.password`:              {Username: "u"},
		`rateLimit.redis.tls.ca (` + empty + `) holds no certificate`:          {TLS: &dynamic.ClientTLS{CA: empty}},
		`rateLimit.redis.tls.cert and rateLimit.redis.tls.key belong together`: {TLS: &dynamic.ClientTLS{Cert: empty}},
	} {
		c, _ := clients(t)
		_, err := c.Limiter("limit@file", &config, plenty(), nil)
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q is wanted, the error is %v", want, err)
		}
	}
}

// TestSocket names a socket in the file system, which only files may.
func TestSocket(t *testing.T) {
	c, _ := clients(t)
	if _, err := c.Limiter("limit@file", at("/run/redis.sock"), plenty(), nil); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"limit@docker", "default-limit@kubernetescrd"} {
		_, err := c.Limiter(name, at("/run/docker.sock"), plenty(), nil)
		const want = `rateLimit.redis.endpoints[0] "/run/docker.sock" is a socket, which only the file provider may name`
		if err == nil || err.Error() != want {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

func TestKeys(t *testing.T) {
	rate := Rate{Average: 100, Period: time.Second, Burst: 50}
	const common = "sluice:ratelimit:1:limit@file:100/1s/50:"
	l := newLimiter(nil, nil, "limit@file", rate)
	for source, want := range map[string]string{
		"192.0.2.1":          common + "192.0.2.1",
		"2001:db8::1":        common + "2001:db8::1",
		"2001:db8::/64":      common + "2001:db8::/64",
		"":                   common + "#47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU",
		"example.com":        common + "#o3mm9u6vuaVeN4wRgDTidR5oL6ufLTCrE9ISVYbOGUc",
		"192.0.2.1/x":        common + hash("192.0.2.1/x"),
		"fe80::1%{eth0}":     common + hash("fe80::1%{eth0}"),
		"#o3mm9u6vuaVeN4wRg": common + hash("#o3mm9u6vuaVeN4wRg"),
	} {
		if got := l.key(source); got != want {
			t.Errorf("%q: the key is %q, want %q", source, got, want)
		}
	}
	other := newLimiter(nil, nil, "limit@file", Rate{Average: 100, Period: time.Second, Burst: 51})
	if other.key("192.0.2.1") == l.key("192.0.2.1") {
		t.Error("another rate reads the same bucket")
	}
	braces := newLimiter(nil, nil, "{all}@file", rate)
	if got := braces.key("192.0.2.1"); strings.Contains(got, "{") {
		t.Errorf("the key %q chooses its node", got)
	}
}

// answer is an error of a server.
type answer string

func (a answer) Error() string { return string(a) }

// RedisError marks what a server answered.
func (answer) RedisError() {}

func TestReasons(t *testing.T) {
	s := &settings{password: "hunter2"}
	for _, test := range []struct {
		err  error
		want string
	}{
		{
			answer("READONLY You can't write against a read only replica."),
			"READONLY You can't write against a read only replica.",
		},
		{
			answer("ERR unknown command 'HELLO', with args beginning with: '2' 'AUTH' 'default' 'hunter2'"),
			"ERR unknown command 'HELLO'",
		},
		{answer("ERR unknown command 'HELLO', with args beginning with: '2'"), "ERR unknown command 'HELLO'"},
		{answer("hunter2"), "an answer that holds the password"},
		{fmt.Errorf("failed to authenticate: %w", answer("WRONGPASS no")), "WRONGPASS no"},
		{context.DeadlineExceeded, "no answer in time"},
		{os.ErrDeadlineExceeded, "no answer in time"},
		{errors.New(`redis: can't parse "hunter2"`), "an answer that holds the password"},
		{errors.New("two\nlines"), "two lines"},
	} {
		if got := s.reason(test.err); got != test.want {
			t.Errorf("%v: %q, want %q", test.err, got, test.want)
		}
	}
}

// Whatever a server answers, the reason is one short line without the password.
func FuzzReason(f *testing.F) {
	f.Add("ERR unknown command, with args beginning with: secret", "secret", true)
	f.Add("secret", "secret", true)
	f.Add("EOF\nx", "secret", false)
	f.Add("pass", "pa", false)
	f.Fuzz(func(t *testing.T, text, password string, answered bool) {
		var err error = answer(text)
		if !answered {
			err = errors.New(text)
		}
		got := (&settings{password: password}).reason(err)
		if strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) || len(got) > maxReason+3 {
			t.Errorf("the reason %q is no short line", got)
		}
		if len(password) > 8 && strings.Contains(got, password) &&
			!strings.Contains("an answer that holds the password is not of Redis", password) {
			t.Errorf("the reason %q holds the password %q", got, password)
		}
	})
}

// Whatever the source and the name are, the key is short, begins as documented, and goes to a node by all of it.
func FuzzKey(f *testing.F) {
	f.Add("limit@file", "192.0.2.1")
	f.Add("{a}", "{b}")
	f.Add("a", "::%{x}")
	f.Fuzz(func(t *testing.T, name, source string) {
		l := newLimiter(nil, nil, name, plenty())
		got := l.key(source)
		if !strings.HasPrefix(got, namespace) || len(got) > 256 || strings.Contains(got, "{") {
			t.Errorf("the key is %q", got)
		}
		if !isAddress(source) && len(source) > 8 && !strings.Contains(l.prefix, source) && strings.Contains(got, source) {
			t.Errorf("the key %q shows the source", got)
		}
	})
}
