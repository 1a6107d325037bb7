package dns

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestProvideFollowsAName(t *testing.T) {
	z := serve(t)
	z.set(map[string][]string{"a.b.c. A": {"a.b.c. 0 IN A 192.0.2.2", "a.b.c. 0 IN A 192.0.2.1"}, "a.b.c. AAAA": {}})
	options := z.files(t, shortConf, "")
	options.MinTTL = 5 * time.Millisecond
	p, messages := provide(t, options, "dns/a.b.c:80")
	if first := <-messages; first.State != dynamic.StateSynced || first.Provider != "dns" ||
		len(first.Endpoints) != 0 {
		t.Errorf("first message = %+v, want synced and nothing else", first)
	}
	want := func(step string, lines ...string) {
		t.Helper()
		if diff := cmp.Diff(lines, next(t, messages)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step, diff)
		}
	}
	want("at first", "dns/a.b.c:80 = 192.0.2.1:80 192.0.2.2:80")
	z.set(map[string][]string{"a.b.c. A": {"a.b.c. 0 IN A 192.0.2.2"}, "a.b.c. AAAA": {"a.b.c. 0 IN AAAA 2001:db8::1"}})
	want("after a change", "dns/a.b.c:80 = 192.0.2.2:80 [2001:db8::1]:80")
	p.Watch([]string{"dns/a.b.c:80", "dns/a.b.c:81"})
	want("with another port", "dns/a.b.c:81 = 192.0.2.2:81 [2001:db8::1]:81")
	p.Watch([]string{"dns/a.b.c:81"})
	want("without the first port", "dns/a.b.c:80 deleted")
	z.set(nil)
	want("without the name", "dns/a.b.c:81 =")
	z.set(map[string][]string{"a.b.c. A": {"a.b.c. 0 IN A 192.0.2.3"}, "a.b.c. AAAA": {}})
	p.Watch(nil)
	for got := next(t, messages); ; got = next(t, messages) {
		if got[0] == "dns/a.b.c:81 deleted" {
			break
		}
	}
}

func TestProvideKeepsTheLastGood(t *testing.T) {
	z := serve(t)
	good := map[string][]string{"a.b.c. A": {"a.b.c. 0 IN A 192.0.2.1"}, "a.b.c. AAAA": {}}
	z.set(good)
	options := z.files(t, shortConf, "")
	options.MinTTL = 5 * time.Millisecond
	_, messages := provide(t, options, "dns/a.b.c:80")
	next(t, messages)
	z.set(map[string][]string{"a.b.c. A": {"!SERVFAIL"}, "a.b.c. AAAA": {"!SERVFAIL"}})
	failed := <-messages
	if len(failed.Endpoints) != 0 || failed.State != dynamic.StateSynced || failed.Reason == "" {
		t.Errorf("message = %+v, want a reason and no change of the set", failed)
	}
	z.set(good)
	if recovered := <-messages; len(recovered.Endpoints) != 0 || recovered.Reason != "" {
		t.Errorf("message = %+v, want no reason any more", recovered)
	}
}

func TestProvideFollowsHosts(t *testing.T) {
	z := serve(t)
	options := z.files(t, shortConf, "192.0.2.1 db\n")
	_, messages := provide(t, options, "dns/db:80")
	next(t, messages)
	write(t, options.Hosts, "192.0.2.22 db\n")
	if diff := cmp.Diff([]string{"dns/db:80 = 192.0.2.22:80"}, next(t, messages)); diff != "" {
		t.Errorf("set (-want +got):\n%s", diff)
	}
}

func TestProvideIgnoresBadKeys(t *testing.T) {
	for _, key := range []string{"", "dns/", "dns/a", "dns/:80", "dns/a:http", "dns/a:0", "dns/a:65536", "cluster/a:80"} {
		if _, _, err := parseKey(key); err == nil {
			t.Errorf("key %q was taken", key)
		}
	}
	host, port, err := parseKey("dns/[2001:db8::1]:80")
	if host != "2001:db8::1" || port != 80 || err != nil {
		t.Errorf("key of an address = %q, %d, %v", host, port, err)
	}
	z := serve(t)
	_, messages := provide(t, z.files(t, shortConf, "192.0.2.1 db\n"), "dns/a", "dns/db:80")
	if diff := cmp.Diff([]string{"dns/db:80 = 192.0.2.1:80"}, next(t, messages)); diff != "" {
		t.Errorf("set (-want +got):\n%s", diff)
	}
}

func TestWatcherKeeps(t *testing.T) {
	failure := errors.New("silence")
	good := families{{addresses: mustAddresses("192.0.2.1")}, {addresses: mustAddresses("2001:db8::1")}}
	empty, bad := families{{missing: true}, {missing: true}}, failed(failure)
	half := families{{err: failure}, {addresses: mustAddresses("2001:db8::2")}}
	type step struct {
		after   time.Duration
		answer  families
		want    []string
		known   bool
		missing bool
		expired bool
	}
	tests := map[string][]step{
		"nothing is known before the first answer": {{answer: bad, want: []string{}}},
		"an empty first answer is known":           {{answer: empty, want: []string{}, known: true, missing: true}},
		"one family is enough":                     {{answer: half, want: []string{"2001:db8::2"}, known: true}},
		"the last good stay, family by family": {
			{answer: good, want: []string{"192.0.2.1", "2001:db8::1"}, known: true},
			{after: time.Hour, answer: half, want: []string{"192.0.2.1", "2001:db8::2"}, known: true},
			{after: 2 * time.Hour, answer: bad, want: []string{"192.0.2.1", "2001:db8::2"}, known: true},
		},
		"the last good do not stay for ever": {
			{answer: good, want: []string{"192.0.2.1", "2001:db8::1"}, known: true},
			{after: DefaultKeep + time.Second, answer: bad, want: []string{}, known: true, expired: true},
			{after: DefaultKeep + time.Minute, answer: bad, want: []string{}, known: true},
		},
		"a name that does not exist loses them at once": {
			{answer: good, want: []string{"192.0.2.1", "2001:db8::1"}, known: true},
			{after: time.Second, answer: empty, want: []string{}, known: true, missing: true},
			{after: time.Minute, answer: bad, want: []string{}, known: true},
		},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) {
			w := &watcher{provider: New("dns", Options{}, telemetry.Discard{})}
			begin := time.Now()
			for i, step := range steps {
				found := w.take(step.answer, begin.Add(step.after))
				got := []string{}
				for _, address := range found.addresses {
					got = append(got, address.String())
				}
				if diff := cmp.Diff(step.want, got); diff != "" {
					t.Errorf("step %d (-want +got):\n%s", i, diff)
				}
				if found.known != step.known || found.missing != step.missing || found.expired != step.expired {
					t.Errorf("step %d: known %t, missing %t, expired %t", i, found.known, found.missing, found.expired)
				}
			}
		})
	}
}

func TestBounds(t *testing.T) {
	p := New("dns", Options{}, telemetry.Discard{})
	for ttl, want := range map[time.Duration]time.Duration{
		0: DefaultMinTTL, time.Minute: time.Minute, time.Hour: DefaultMaxTTL,
	} {
		if got := p.bound(ttl); got != want {
			t.Errorf("bound(%s) = %s, want %s", ttl, got, want)
		}
	}
}
