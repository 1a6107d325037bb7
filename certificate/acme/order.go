package acme

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/mholt/acmez/v3/acme"

	"github.com/sluiceproxy/sluice/certificate/storage"
)

const (
	// orderTimeout bounds an order with all its validations. DNS records may take long to be seen everywhere.
	orderTimeout = time.Hour
	// orderLife is how long an order that was not completed is resumed. Authorities keep orders for a week or more.
	orderLife = 3 * 24 * time.Hour
	// finalizePoll is how often an order is read that is being processed.
	finalizePoll = time.Second
	// cleanupTimeout bounds what is done after an order, and lastCleanup what is done after the end of a leader's term:
	// it is less than the life of a lock, so that the next leader does not lose what it presents.
	cleanupTimeout = 30 * time.Second
	lastCleanup    = 5 * time.Second
)

// openOrder is an order that was created and not completed. It is stored with the key of its certificate, so that the
// next leader can resume it.
type openOrder struct {
	Names   []string  `json:"names"`
	URL     string    `json:"url"`
	Account string    `json:"account"`
	Key     string    `json:"key"`
	Created time.Time `json:"created"`
}

// obtain orders a certificate for names. replaces is the certificate that it renews, or nil.
func (r *resolver) obtain(
	ctx context.Context, names []string, replaces *x509.Certificate,
) (storage.Certificate, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, orderTimeout, errors.New("the order took longer than an hour"))
	defer cancel()
	s, err := r.session(ctx)
	if err != nil {
		return storage.Certificate{}, err
	}
	failed := failedTypes{}
	for {
		open, order, err := r.open(ctx, s, names, replaces)
		if err != nil {
			return storage.Certificate{}, err
		}
		if order.Status != acme.StatusReady && order.Status != acme.StatusProcessing && order.Status != acme.StatusValid {
			if err = r.authorize(ctx, s, order, failed); err == nil {
				order, err = s.client.GetOrder(ctx, s.account, order)
			}
		}
		if err == nil {
			return r.complete(ctx, s, open, order)
		}
		if ctx.Err() != nil {
			return storage.Certificate{}, context.Cause(ctx) // The next leader resumes the order.
		}
		r.close(ctx, names)
		var again *otherType
		if !errors.As(err, &again) {
			return storage.Certificate{}, err
		}
	}
}

// open returns the stored order for names, or else creates one.
func (r *resolver) open(
	ctx context.Context, s *session, names []string, replaces *x509.Certificate,
) (openOrder, acme.Order, error) {
	id := storage.CertificateID(names)
	if open, found := r.state.order(id); found {
		if open.Account == s.account.Location && time.Since(open.Created) < orderLife {
			order, err := s.client.GetOrder(ctx, s.account, acme.Order{Location: open.URL})
			switch {
			case err == nil && order.Status != acme.StatusInvalid:
				r.logger.Info("an open order is resumed", "resolver", r.name, "names", names, "status", order.Status)
				return open, order, nil
			case err != nil && !isGone(err) && !isProblem(err, acme.ProblemTypeMalformed, acme.ProblemTypeUnauthorized):
				return open, order, err
			}
		}
		r.close(ctx, names)
	}
	order, err := r.create(ctx, s, names, replaces)
	if err != nil {
		return openOrder{}, order, err
	}
	key, err := newKey(r.config.KeyType)
	if err != nil {
		return openOrder{}, order, &localError{err}
	}
	text, err := encodeKey(key)
	if err != nil {
		return openOrder{}, order, &localError{err}
	}
	open := openOrder{
		Names: names, URL: order.Location, Account: s.account.Location, Key: text, Created: time.Now().Round(0),
	}
	if err := r.put(ctx, storage.KindOrder, id, open); err != nil {
		r.logger.Warn("an open order cannot be stored, so that it is lost if Sluice stops now", "resolver", r.name,
			"names", names, "error", err)
	}
	return open, order, nil
}

// close forgets an open order.
func (r *resolver) close(ctx context.Context, names []string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if err := r.remove(ctx, storage.KindOrder, storage.CertificateID(names)); err != nil {
		r.logger.Warn("an order cannot be removed from the storage", "resolver", r.name, "names", names, "error", err)
	}
}

// identifierIP is the type of identifiers that are IP addresses (RFC 8738, section 3).
const identifierIP = "ip"

// create sends a new order (RFC 8555, section 7.4), which says what it replaces where the authority has renewal
// information (RFC 9773, section 5).
func (r *resolver) create(
	ctx context.Context, s *session, names []string, replaces *x509.Certificate,
) (acme.Order, error) {
	wanted := acme.Order{Profile: r.config.Profile}
	for _, name := range names {
		kind := "dns"
		if _, err := netip.ParseAddr(name); err == nil {
			kind = identifierIP
		}
		wanted.Identifiers = append(wanted.Identifiers, acme.Identifier{Type: kind, Value: name})
	}
	directory, err := s.client.GetDirectory(ctx)
	if err != nil {
		return wanted, err
	}
	if replaces != nil && directory.RenewalInfo != "" {
		wanted.Replaces, _ = acme.ARIUniqueIdentifier(replaces)
	}
	order, err := s.client.NewOrder(ctx, s.account, wanted)
	var problem acme.Problem
	if wanted.Replaces != "" && errors.As(err, &problem) &&
		!isProblem(err, acme.ProblemTypeRateLimited, acme.ProblemTypeAccountDoesNotExist) {
		// Such as a certificate of another account, one that has been replaced, or one that the authority has lost
		// (serverInternal in Pebble).
		wanted.Replaces = ""
		order, err = s.client.NewOrder(ctx, s.account, wanted)
	}
	return order, err
}

// complete finalizes an order whose names are authorized, and downloads the certificate.
func (r *resolver) complete(
	ctx context.Context, s *session, open openOrder, order acme.Order,
) (storage.Certificate, error) {
	key, err := decodeKey(open.Key)
	if err != nil {
		return storage.Certificate{}, &localError{err}
	}
	request, err := newRequest(key, open.Names, r.config.EmailAddresses, !r.config.DisableCommonName)
	if err != nil {
		return storage.Certificate{}, &localError{err}
	}
	if order, err = r.finalize(ctx, s, order, request); err != nil {
		if isProblem(err, acme.ProblemTypeBadCSR, acme.ProblemTypeUnauthorized, acme.ProblemTypeCAA) ||
			order.Status == acme.StatusInvalid {
			r.close(ctx, open.Names)
		}
		return storage.Certificate{}, fmt.Errorf("finalizing the order: %w", err)
	}
	chains, err := s.client.GetCertificateChain(ctx, s.account, order.Certificate)
	if err != nil {
		return storage.Certificate{}, fmt.Errorf("downloading the certificate: %w", err)
	}
	chain, err := r.choose(chains)
	if err != nil {
		return storage.Certificate{}, err
	}
	return storage.Certificate{Main: open.Names[0], SANs: open.Names[1:], Chain: chain, Key: open.Key},
		checkPair(chain, open.Key, open.Names)
}

// finalize has the certificate of an order issued, which an earlier leader may have begun.
func (r *resolver) finalize(ctx context.Context, s *session, order acme.Order, request []byte) (acme.Order, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Duration(r.config.CertificateTimeout),
		errors.New("the authority has not issued the certificate within certificateTimeout"))
	defer cancel()
	sent := false
	for {
		switch order.Status {
		case acme.StatusValid:
			return order, nil
		case acme.StatusInvalid:
			if order.Error != nil {
				return order, *order.Error
			}
			return order, errors.New("the order is invalid")
		case acme.StatusReady:
			if sent {
				break
			}
			sent = true
			next, err := s.client.FinalizeOrder(ctx, s.account, order, request)
			if err == nil {
				return next, nil
			}
			// An earlier request, or one whose response was lost, may be under way.
			current, getErr := s.client.GetOrder(ctx, s.account, order)
			if getErr != nil || current.Status == acme.StatusReady {
				return next, err
			}
			order = current
			continue
		}
		if wait(ctx, finalizePoll) != nil {
			return order, context.Cause(ctx)
		}
		var err error
		if order, err = s.client.GetOrder(ctx, s.account, order); err != nil {
			return order, err
		}
	}
}

// checkPair reports what is wrong with a certificate that the authority has issued.
func checkPair(chain, key string, names []string) error {
	pair, err := tls.X509KeyPair([]byte(chain), []byte(key))
	if err != nil {
		return fmt.Errorf("the authority has sent an unusable certificate: %w", err)
	}
	for _, name := range names {
		if !slices.Contains(pair.Leaf.DNSNames, name) && pair.Leaf.VerifyHostname(name) != nil {
			return fmt.Errorf("the authority has sent a certificate without the name %s", name)
		}
	}
	return nil
}

// choose returns the first chain, or the one whose topmost issuer has the common name preferredChain.
func (r *resolver) choose(chains []acme.Certificate) (string, error) {
	if len(chains) == 0 {
		return "", errors.New("the authority has sent no certificate")
	}
	if r.config.PreferredChain == "" {
		return string(chains[0].ChainPEM), nil
	}
	for _, chain := range chains {
		if issuer, err := topIssuer(chain.ChainPEM); err == nil && issuer == r.config.PreferredChain {
			return string(chain.ChainPEM), nil
		}
	}
	r.logger.Warn("the authority offers no chain of the preferred issuer; its default one is used", "resolver", r.name,
		"preferredChain", r.config.PreferredChain)
	return string(chains[0].ChainPEM), nil
}

// latestSchedule returns the schedule of a certificate, with a request to renew it that the storage has and the state
// does not have yet. Otherwise it is that of the state, which may have what the storage has refused.
func (r *resolver) latestSchedule(ctx context.Context, now time.Time, c *issuedCertificate) schedule {
	known := r.state.schedule(c.id)
	if known.isDue(now, c.leaf) {
		return known
	}
	var stored schedule
	text, err := r.store.Get(ctx, storage.Key{Kind: storage.KindSchedule, Resolver: r.name, ID: c.id})
	if err == nil && json.Unmarshal(text, &stored) == nil && stored.isDue(now, c.leaf) {
		return stored
	}
	return known
}

// suggestion reads when the authority suggests to renew a certificate, and stores it (RFC 9773).
func (r *resolver) suggestion(ctx context.Context, c *issuedCertificate) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	client := newClient(r.config, directoryOf(r.config.CAServer), r.client)
	info, err := client.GetRenewalInfo(ctx, c.leaf)
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return
	}
	now := time.Now()
	before := r.latestSchedule(ctx, now, c) // A request to renew may have come meanwhile.
	next := before.withoutSuggestion(now, c.leaf)
	if err == nil {
		next = before.suggest(now, c.leaf, info)
	} else if !errors.Is(err, acme.ErrUnsupported) {
		r.logger.Debug("no renewal information", "resolver", r.name, "names", c.names, "error", err)
	}
	// Without news it is stored once a day, so that many certificates do not keep the storage busy.
	if before.Serial == next.Serial && before.WindowStart.Equal(next.WindowStart) && before.Renew.Equal(next.Renew) &&
		now.Sub(before.Stored) < longestRecheck {
		r.state.keepSchedule(c.id, next)
		return
	}
	next.Stored = now.Round(0)
	if err := r.put(ctx, storage.KindSchedule, c.id, next); err != nil {
		r.state.keepSchedule(c.id, next)
		r.logger.Warn("renewal information cannot be stored", "resolver", r.name, "names", c.names, "error", err)
	}
}
