package authority_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"maps"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/inject/authority"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const host = "sluice-injector.sluice.svc"

// secret is a Secret that several replicas share.
type secret struct {
	mu      sync.Mutex
	data    map[string][]byte
	version int
	deleted bool
	down    bool
	watches []chan struct{}
	writes  int
}

// replica is the store of one replica.
type replica struct {
	*secret
	changed chan struct{}
}

func (s *secret) replica() *replica {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := &replica{s, make(chan struct{}, 1)}
	s.watches = append(s.watches, one.changed)
	return one
}

var errDown = errors.New("the API server is down")

func (s *secret) Read(context.Context) (authority.Content, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.down:
		return authority.Content{}, errDown
	case s.deleted || s.version == 0:
		return authority.Content{}, nil
	}
	return authority.Content{Data: maps.Clone(s.data), Version: strconv.Itoa(s.version)}, nil
}

func (s *secret) Write(_ context.Context, content authority.Content) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	version := strconv.Itoa(s.version)
	if s.deleted || s.version == 0 {
		version = ""
	}
	switch {
	case s.down:
		return errDown
	case content.Version != version:
		return authority.ErrConflict
	}
	s.put(content.Data)
	s.writes++
	return nil
}

// put changes the Secret. The caller holds mu.
func (s *secret) put(data map[string][]byte) {
	s.data, s.deleted = data, data == nil
	s.version++
	for _, watch := range s.watches {
		select {
		case watch <- struct{}{}:
		default:
		}
	}
}

func (s *secret) set(data map[string][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(data)
}

func (r *replica) Changed() <-chan struct{} { return r.changed }

type repairs struct {
	mu    sync.Mutex
	count int
}

func (r *repairs) Repaired() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count++
}

func (r *repairs) all() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}

// now returns the data of the Secret, and how often it was written.
func (s *secret) now() (data map[string][]byte, writes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.data, s.writes
}

// rig has replicas with a registration, to which each writes its bundle after some time, as over the network.
type rig struct {
	t       *testing.T
	secret  *secret
	repairs repairs
	keepers []*authority.Keeper
	stop    []context.CancelFunc
	running sync.WaitGroup

	mu         sync.Mutex
	registered []byte
	watches    []chan struct{} // of the registration
}

// start starts a replica.
func (r *rig) start() *authority.Keeper {
	keeper := authority.NewKeeper(authority.Options{
		Store: r.secret.replica(), Names: []string{host}, Confirmed: true, Meter: &r.repairs, Logger: telemetry.Discard{},
	})
	ctx, cancel := context.WithCancel(r.t.Context())
	r.keepers, r.stop = append(r.keepers, keeper), append(r.stop, cancel)
	r.running.Go(func() { keeper.Run(ctx) })
	r.running.Go(func() { r.register(ctx, keeper) })
	return keeper
}

// register does what package registration does.
func (r *rig) register(ctx context.Context, keeper *authority.Keeper) {
	changed := make(chan struct{}, 1)
	r.mu.Lock()
	r.watches = append(r.watches, changed)
	r.mu.Unlock()
	look := time.NewTicker(time.Minute)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-keeper.BundleChanged():
		case <-changed:
		case <-look.C:
		}
		bundle := keeper.Bundle(ctx)
		if bundle == nil {
			continue
		}
		r.mu.Lock()
		same := bytes.Equal(r.registered, bundle)
		r.mu.Unlock()
		if same {
			keeper.Published(bundle)
			continue
		}
		time.AfterFunc(300*time.Millisecond, func() { // The answer of the API server.
			r.mu.Lock()
			defer r.mu.Unlock()
			r.registered = bundle
			for _, watch := range r.watches {
				select {
				case watch <- struct{}{}:
				default:
				}
			}
		})
	}
}

// end stops all replicas.
func (r *rig) end() {
	for _, stop := range r.stop {
		stop()
	}
	r.running.Wait()
}

// verify connects to every replica that is ready with what is registered.
func (r *rig) verify(when string) {
	r.t.Helper()
	r.mu.Lock()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(r.registered)
	r.mu.Unlock()
	for i, keeper := range r.keepers {
		if keeper.Ready() != nil {
			r.t.Errorf("%s: replica %d is not ready: %v", when, i, keeper.Ready())
			continue
		}
		certificate, err := keeper.GetCertificate(nil)
		if err != nil {
			r.t.Errorf("%s: replica %d: %v", when, i, err)
			continue
		}
		options := x509.VerifyOptions{Roots: pool, DNSName: host, CurrentTime: time.Now()}
		if _, err := certificate.Leaf.Verify(options); err != nil {
			r.t.Errorf("%s: replica %d presents what is not trusted: %v", when, i, err)
		}
	}
}

// follow verifies every step for some time.
func (r *rig) follow(duration, step time.Duration, when string) {
	r.t.Helper()
	ticker := time.NewTicker(step)
	defer ticker.Stop()
	for end := time.Now().Add(duration); time.Now().Before(end) && !r.t.Failed(); {
		<-ticker.C
		r.verify(when + " at " + time.Now().Format(time.DateTime))
	}
}

// settled waits until everything that is due has been done.
func settled() {
	timer := time.NewTimer(10 * time.Second)
	<-timer.C
	synctest.Wait()
}

// TestReplicasShareOneAuthority starts replicas at once: one creates the Secret, and all present what it has signed.
func TestReplicasShareOneAuthority(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, secret: &secret{}}
		defer r.end()
		for range 5 {
			r.start()
		}
		settled()
		r.verify("after the start")
		data, writes := r.secret.now()
		if writes != 1 {
			t.Errorf("the Secret was written %d times", writes)
		}
		if all, wrong := authority.Parse(data); len(all) != 1 || len(wrong) > 0 {
			t.Errorf("there are %d authorities, %v", len(all), wrong)
		}
	})
}

// TestRotation goes through the days around the replacement of an authority: clients with what is registered can
// connect at every moment.
func TestRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, err := authority.New(time.Now().Add(-182*day - 9*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		data, err := authority.Encode([]authority.Authority{old})
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{t: t, secret: &secret{data: data, version: 1}}
		defer r.end()
		r.start()
		settled()
		first, _ := r.keepers[0].GetCertificate(nil)
		r.follow(3*time.Hour, 10*time.Minute, "before and while the next one is made")
		r.follow(2*time.Minute, 50*time.Millisecond, "then")
		r.follow(7*day+2*time.Hour, time.Hour, "until the old one is gone")
		data, _ = r.secret.now()
		all, _ := authority.Parse(data)
		if len(all) != 1 || all[0].Certificate.Equal(old.Certificate) {
			t.Errorf("%d authorities are left", len(all))
		}
		if last, _ := r.keepers[0].GetCertificate(nil); last == first {
			t.Error("the certificate was not renewed")
		}
	})
}

// TestSwitchWaitsForTheRegistration verifies each moment around the switch to a new authority.
func TestSwitchWaitsForTheRegistration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, secret: &secret{}}
		defer r.end()
		r.start()
		r.start()
		settled()
		data, _ := r.secret.now()
		for _, damage := range []struct {
			name string
			data map[string][]byte
		}{
			{"deleted", nil},
			{"empty", map[string][]byte{"other": []byte("x")}},
			{"no PEM", map[string][]byte{authority.CertificatesKey: []byte("x"), authority.KeysKey: []byte("y")}},
			{"without keys", map[string][]byte{authority.CertificatesKey: data[authority.CertificatesKey]}},
		} {
			repaired, before := r.repairs.all(), r.keepers[1]
			certificate, _ := before.GetCertificate(nil)
			r.secret.set(damage.data)
			r.follow(20*time.Second, 10*time.Millisecond, damage.name)
			if after, _ := before.GetCertificate(nil); after == certificate {
				t.Errorf("%s: there is no new certificate", damage.name)
			}
			now, _ := r.secret.now()
			if _, wrong := authority.Parse(now); len(wrong) > 0 {
				t.Errorf("%s: the Secret stays damaged: %v", damage.name, wrong)
			}
			if r.repairs.all() == repaired && damage.name != "without keys" {
				t.Errorf("%s: nothing was counted", damage.name)
			}
		}
		r.start() // A replica that has seen none of it.
		settled()
		r.verify("with another replica")
	})
}

// TestOutage renews certificates while the API server is down.
func TestOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, secret: &secret{}}
		defer r.end()
		r.start()
		settled()
		r.secret.mu.Lock()
		r.secret.down = true
		r.secret.mu.Unlock()
		r.follow(4*day, time.Hour, "without the API server")
		r.secret.mu.Lock()
		r.secret.down = false
		r.secret.mu.Unlock()
		settled()
		r.verify("with it again")
		if _, writes := r.secret.now(); writes != 1 {
			t.Errorf("the Secret was written %d times", writes)
		}
	})
}

// TestBundleIsThatOfTheSecret wants no bundle from a replica that cannot read the Secret, or has not seen its change.
func TestBundleIsThatOfTheSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, secret: &secret{}}
		defer r.end()
		r.secret.down = true
		keeper := r.start()
		settled()
		if keeper.Bundle(t.Context()) != nil {
			t.Error("there is a bundle before there is a Secret")
		}
		r.secret.mu.Lock()
		r.secret.down = false
		r.secret.mu.Unlock()
		settled()
		if keeper.Bundle(t.Context()) == nil {
			t.Error("there is no bundle")
		}
		r.secret.mu.Lock()
		r.secret.down = true
		r.secret.mu.Unlock()
		if keeper.Bundle(t.Context()) != nil {
			t.Error("there is a bundle though the Secret cannot be read")
		}
		r.secret.mu.Lock()
		r.secret.down = false
		r.secret.data = nil // Without a notice.
		r.secret.version++
		r.secret.mu.Unlock()
		if keeper.Bundle(t.Context()) != nil {
			t.Error("there is a bundle that the Secret does not have")
		}
		settled()
		if keeper.Bundle(t.Context()) == nil {
			t.Error("there is no bundle after the change was seen")
		}
	})
}

// TestSwitchNeedsTheCurrentBundle publishes another bundle with the new authority first.
func TestSwitchNeedsTheCurrentBundle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := func(age time.Duration) authority.Authority {
			one, err := authority.New(time.Now().Add(-age))
			if err != nil {
				t.Fatal(err)
			}
			return one
		}
		old, younger := made(2*time.Hour), made(time.Hour)
		encode := func(all ...authority.Authority) map[string][]byte {
			data, err := authority.Encode(all)
			if err != nil {
				t.Fatal(err)
			}
			return data
		}
		shared := &secret{data: encode(old), version: 1}
		keeper := authority.NewKeeper(authority.Options{
			Store: shared.replica(), Names: []string{host}, Confirmed: true, Meter: &repairs{}, Logger: telemetry.Discard{},
		})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { keeper.Run(ctx) })
		defer running.Wait()
		defer cancel()
		settled()
		keeper.Published(keeper.Bundle(ctx))
		shared.set(encode(old, younger))
		signer := func() string {
			settled()
			certificate, err := keeper.GetCertificate(nil)
			if err != nil {
				t.Fatal(err)
			}
			return certificate.Leaf.Issuer.CommonName
		}
		keeper.Published(authority.Bundle([]authority.Authority{younger}))
		if got := signer(); got != old.Certificate.Subject.CommonName {
			t.Errorf("%s signs before the bundle is published", got)
		}
		keeper.Published(keeper.Bundle(ctx))
		if got := signer(); got != younger.Certificate.Subject.CommonName {
			t.Errorf("%s signs afterwards", got)
		}
	})
}

// TestEncode parses what Encode returns.
func TestEncode(t *testing.T) {
	first, second := at(t, 0), at(t, day)
	data, err := authority.Encode([]authority.Authority{trusted(first), second})
	if err != nil {
		t.Fatal(err)
	}
	all, wrong := authority.Parse(data)
	if len(wrong) > 0 || len(all) != 2 || all[0].Key != nil || all[1].Key == nil {
		t.Errorf("%v, %v", all, wrong)
	}
}

// FuzzParse wants no panic, and that what is parsed can be encoded and parsed again.
func FuzzParse(f *testing.F) {
	one, err := authority.New(start())
	if err != nil {
		f.Fatal(err)
	}
	data, err := authority.Encode([]authority.Authority{one})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data[authority.CertificatesKey], data[authority.KeysKey])
	f.Add([]byte("x"), []byte("-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n"))
	f.Fuzz(func(t *testing.T, certificates, keys []byte) {
		all, _ := authority.Parse(map[string][]byte{authority.CertificatesKey: certificates, authority.KeysKey: keys})
		data, err := authority.Encode(all)
		if err != nil {
			return // A key of a kind that has no encoding.
		}
		again, wrong := authority.Parse(data)
		if len(again) != len(all) || len(wrong) > 0 {
			t.Errorf("%d and %d authorities, %v", len(all), len(again), wrong)
		}
	})
}
