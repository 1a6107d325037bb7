package authority

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"sync"
	"time"

	"github.com/sluiceproxy/sluice/telemetry"
)

const (
	// lookInterval is how often the Secret is read and the clock compared at least: a clock may jump.
	lookInterval = time.Minute
	// retryInterval is the pause after a request that has failed, conflictInterval that after another replica was faster.
	retryInterval    = 5 * time.Second
	conflictInterval = 50 * time.Millisecond
	// publishDelay is how long a bundle must have been in the registration before leaves of a new authority are
	// presented: API servers follow registrations with a delay.
	publishDelay = 2 * time.Second
	// requestTimeout is the time limit of one request.
	requestTimeout = 5 * time.Second
)

// ErrConflict is returned by a Store when another replica was faster.
var ErrConflict = errors.New("another replica was faster")

// Content is the content of the Secret.
type Content struct {
	Data map[string][]byte
	// Version identifies the content; it is empty when there is no Secret.
	Version string
}

// Store keeps the Secret; *SecretStore does.
type Store interface {
	// Read returns what is there now.
	Read(ctx context.Context) (Content, error)
	// Write replaces the keys in Data if the Secret still has the version, or creates it if the version is empty. It
	// returns ErrConflict when the version is another one.
	Write(ctx context.Context, content Content) error
	// Changed receives when the Secret may have changed.
	Changed() <-chan struct{}
}

// Meter counts; *metrics.Injector does.
type Meter interface {
	// Repaired counts a Secret that was deleted or damaged and has got a new authority.
	Repaired()
}

// Options are the dependencies of a Keeper.
type Options struct {
	Store Store
	// Names are the DNS names and IP addresses in the certificates.
	Names []string
	// Confirmed is set when Published is called: a leaf of a new authority is then presented only when its bundle has
	// been published.
	Confirmed bool
	Meter     Meter
	Logger    telemetry.Logger
}

// Keeper keeps the authorities in a Secret, and presents leaves of them. Its methods may be called from any goroutine;
// Run once.
type Keeper struct {
	options Options
	changed chan struct{} // for the loop
	bundles chan struct{} // for the registration

	mu     sync.Mutex
	leaf   *leafState
	signer Authority // what the plan says, of which leaf may not be yet
	bundle []byte
	// published is the bundle that was published last, since that time.
	published []byte
	since     time.Time
	failing   bool
}

// NewKeeper returns a keeper that has no certificate until it runs.
func NewKeeper(options Options) *Keeper {
	return &Keeper{options: options, changed: make(chan struct{}, 1), bundles: make(chan struct{}, 1)}
}

// GetCertificate returns the leaf that is presented.
func (k *Keeper) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.leaf == nil {
		return nil, errors.New("there is no certificate yet")
	}
	return k.leaf.certificate, nil
}

// Bundle returns the authorities that clients must trust, as PEM. It reads the Secret, and returns nil when that fails
// or has others, so that a replica that does not know of a change does not undo it.
func (k *Keeper) Bundle(ctx context.Context) []byte {
	k.mu.Lock()
	bundle := k.bundle
	k.mu.Unlock()
	if bundle == nil {
		return nil
	}
	content, err := k.read(ctx)
	if err != nil {
		return nil
	}
	if parsed, wrong := Parse(content.Data); len(wrong) > 0 || !bytes.Equal(Bundle(parsed), bundle) {
		notify(k.changed)
		return nil
	}
	return bundle
}

// BundleChanged receives when Bundle returns another one.
func (k *Keeper) BundleChanged() <-chan struct{} { return k.bundles }

// Published reports that all clients have a bundle.
func (k *Keeper) Published(bundle []byte) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if bytes.Equal(k.published, bundle) {
		return
	}
	k.published, k.since = bundle, time.Now()
	notify(k.changed)
}

// Ready returns why connections cannot be verified yet; nil when they can.
func (k *Keeper) Ready() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.leaf == nil:
		return errors.New("there is no certificate yet")
	case k.options.Confirmed && !bundleHas(k.published, k.leaf.signer.Certificate):
		return errors.New("the authority of the certificate is not published yet")
	}
	return nil
}

// NotAfter returns when the leaf that is presented and its authority end; zero when there is none yet.
func (k *Keeper) NotAfter() (leaf, authority time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.leaf == nil {
		return time.Time{}, time.Time{}
	}
	return k.leaf.certificate.Leaf.NotAfter, k.leaf.signer.Certificate.NotAfter
}

// Run keeps the Secret until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-k.options.Store.Changed():
		case <-k.changed:
		}
		timer.Reset(k.step(ctx))
	}
}

// step does what is due, and returns when to look again at the latest.
func (k *Keeper) step(ctx context.Context) time.Duration {
	now := time.Now().Round(0) // Without the monotonic clock, since certificates are compared with the wall clock.
	content, err := k.read(ctx)
	if err != nil {
		k.report(err)
		k.present(now)
		return retryInterval
	}
	parsed, wrong := Parse(content.Data)
	plan, lost, err := k.plan(parsed, now)
	if err == nil && (len(wrong) > 0 || !bytes.Equal(Bundle(parsed), Bundle(plan.Keep))) {
		if err = k.write(ctx, content.Version, plan.Keep); err == nil {
			k.written(content, parsed, wrong, lost, plan)
		}
	}
	if errors.Is(err, ErrConflict) {
		return conflictInterval
	}
	k.report(err)
	if err != nil {
		k.present(now)
		return retryInterval
	}
	k.adopt(plan)
	k.present(now)
	return k.wait(plan.Next, now)
}

func (k *Keeper) read(ctx context.Context) (Content, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return k.options.Store.Read(ctx)
}

func (k *Keeper) write(ctx context.Context, version string, all []Authority) error {
	data, err := Encode(all)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return k.options.Store.Write(ctx, Content{Data: data, Version: version})
}

// written logs what was written to the Secret, and counts a repair.
func (k *Keeper) written(before Content, parsed []Authority, wrong []error, lost bool, plan Plan) {
	if len(wrong) > 0 || lost {
		k.options.Logger.Warn("the Secret of the injector's authority was deleted or damaged, and is repaired",
			"problems", wrong, "deleted", before.Version == "")
		k.options.Meter.Repaired()
	}
	for _, one := range plan.Keep {
		if one.Key != nil && !contains(parsed, one.Certificate) {
			k.options.Logger.Info("the injector has a new authority", "notAfter", one.Certificate.NotAfter, "beside",
				len(plan.Keep)-1)
		}
	}
}

// plan returns the plan for a Secret, with a new authority if one is due. The authority of the leaf that is presented
// stays in the bundle, even if the Secret has lost it.
func (k *Keeper) plan(parsed []Authority, now time.Time) (plan Plan, lost bool, err error) {
	known := append([]Authority{}, parsed...)
	k.mu.Lock()
	lost = k.leaf != nil && !contains(known, k.leaf.signer.Certificate) && valid(&k.leaf.signer, now)
	if lost {
		known = append(known, Authority{Certificate: k.leaf.signer.Certificate})
		sortByAge(known)
	}
	k.mu.Unlock()
	plan = NewPlan(known, now)
	if !plan.Create {
		return plan, lost, nil
	}
	made, err := New(now)
	if err != nil {
		return Plan{}, lost, err
	}
	all := append(append([]Authority{}, plan.Keep...), made)
	sortByAge(all)
	return NewPlan(all, now), lost, nil
}

// report logs that the Secret cannot be read or written, once, and that it can again.
func (k *Keeper) report(err error) {
	k.mu.Lock()
	changed := (err != nil) != k.failing
	k.failing = err != nil
	k.mu.Unlock()
	switch {
	case !changed:
	case err != nil:
		k.options.Logger.Error("the Secret of the injector's authority cannot be kept; the last certificate stays in use",
			"error", err)
	default:
		k.options.Logger.Info("the Secret of the injector's authority can be kept again")
	}
}

// adopt takes what the Secret has now.
func (k *Keeper) adopt(plan Plan) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.signer = plan.Signer
	if bundle := Bundle(plan.Keep); !bytes.Equal(bundle, k.bundle) {
		k.bundle = bundle
		notify(k.bundles)
	}
}

// present signs a leaf if one is due.
func (k *Keeper) present(now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.signer.Key == nil {
		return
	}
	signer := k.signer
	if k.leaf != nil {
		if same := k.leaf.signer.Certificate.Equal(signer.Certificate); !same && !k.maySwitch(now) {
			signer = k.leaf.signer
		}
		if k.leaf.signer.Certificate.Equal(signer.Certificate) && !k.leaf.due(now) {
			return
		}
	}
	leaf, err := NewLeaf(signer, k.options.Names, now)
	if err != nil {
		k.options.Logger.Error("no certificate can be signed; the last one stays in use", "error", err)
		return
	}
	k.leaf = &leafState{certificate: leaf, signer: signer}
	k.options.Logger.Info("the injector has a new certificate", "notAfter", leaf.Leaf.NotAfter, "authority",
		signer.Certificate.Subject.CommonName)
}

// maySwitch reports whether a leaf of a new authority may be presented: the bundle of the Secret is published as it is
// now, or the leaf that is presented is of no use any more. The caller holds mu.
func (k *Keeper) maySwitch(now time.Time) bool {
	if !k.options.Confirmed || !valid(&k.leaf.signer, now) || k.leaf.signer.Key == nil {
		return true
	}
	return !k.failing && bytes.Equal(k.published, k.bundle) && time.Since(k.since) >= publishDelay
}

// wait returns how long nothing is due.
func (k *Keeper) wait(next, now time.Time) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	wait := lookInterval
	if !next.IsZero() {
		wait = min(wait, next.Sub(now))
	}
	if k.leaf != nil {
		wait = min(wait, k.leaf.renewal().Sub(now))
		if !k.leaf.signer.Certificate.Equal(k.signer.Certificate) {
			wait = min(wait, publishDelay)
		}
	}
	return max(wait, conflictInterval)
}

func notify(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}
