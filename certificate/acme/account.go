package acme

import (
	"context"
	"crypto"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/mholt/acmez/v3/acme"

	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/static"
)

// session is an account at an authority with the client that uses it.
type session struct {
	client  *acme.Client
	account acme.Account
}

// session returns the session of the resolver, with the stored account or a new one. Only the leader calls it.
func (r *resolver) session(ctx context.Context) (*session, error) {
	r.sessionLock.Lock()
	defer r.sessionLock.Unlock()
	if r.opened != nil {
		return r.opened, nil
	}
	opened := &session{client: newClient(r.config, directoryOf(r.config.CAServer), r.client)}
	stored := r.state.storedAccount()
	if stored != nil {
		account, err := r.usable(stored)
		if err != nil {
			return nil, err
		}
		if account != nil {
			opened.account = *account
			r.opened = opened
			return opened, nil
		}
	}
	key, err := r.accountKey(ctx, stored)
	if err != nil {
		return nil, &localError{err}
	}
	account, kept, err := register(ctx, r.config, opened.client, key)
	if err != nil {
		return nil, &accountError{fmt.Errorf("account: %w", err)}
	}
	if err := r.put(ctx, storage.KindAccount, "", kept); err != nil {
		return nil, &localError{errors.Join(errStorage, err)}
	}
	r.logger.Info("an account was registered", "resolver", r.name, "account", account.Location)
	opened.account = account
	r.opened = opened
	return opened, nil
}

// accountKey returns the key of a stored account that is not registered, or stores a new one: a registration whose
// response is lost is repeated with the same key.
func (r *resolver) accountKey(ctx context.Context, stored *storage.Account) (crypto.Signer, error) {
	if stored != nil && stored.URI == "" {
		if key, err := decodeKey(stored.Key); err == nil {
			return key, nil
		}
	}
	key, err := newKey(accountKeyType)
	if err != nil {
		return nil, err
	}
	text, err := encodeKey(key)
	if err != nil {
		return nil, err
	}
	if err := r.put(ctx, storage.KindAccount, "", storage.Account{Email: r.config.Email, Key: text}); err != nil {
		return nil, errors.Join(errStorage, err)
	}
	return key, nil
}

// usable returns a stored account, or nil if it belongs to another authority or was never registered.
func (r *resolver) usable(stored *storage.Account) (*acme.Account, error) {
	if stored.URI == "" || !sameHost(stored.URI, directoryOf(r.config.CAServer)) {
		return nil, nil
	}
	key, err := decodeKey(stored.Key)
	if err != nil {
		return nil, &localError{fmt.Errorf("the stored account: %w", err)}
	}
	account := acme.Account{Status: acme.StatusValid, Location: stored.URI, PrivateKey: key}
	return &account, nil
}

// dropSession forgets an account that the authority does not know any more; the next session registers its key again.
func (r *resolver) dropSession(ctx context.Context) {
	r.sessionLock.Lock()
	defer r.sessionLock.Unlock()
	r.opened = nil
	stored := r.state.storedAccount()
	if stored == nil {
		return
	}
	unregistered := *stored
	unregistered.URI, unregistered.Body = "", nil
	if err := r.put(ctx, storage.KindAccount, "", unregistered); err != nil {
		r.logger.Warn("the account cannot be stored", "resolver", r.name, "error", err)
	}
}

// sameHost reports whether two URLs have the same host name.
func sameHost(a, b string) bool {
	first, err := url.Parse(a)
	if err != nil {
		return false
	}
	second, err := url.Parse(b)
	return err == nil && first.Hostname() == second.Hostname()
}

// register registers an account (RFC 8555, section 7.3). The authority knows the account of a key that was registered.
func register(
	ctx context.Context, config *static.ACME, client *acme.Client, key crypto.Signer,
) (acme.Account, storage.Account, error) {
	account := acme.Account{TermsOfServiceAgreed: true, PrivateKey: key}
	if config.Email != "" {
		account.Contact = []string{"mailto:" + config.Email}
	}
	if config.EAB != nil {
		eab := acme.EAB{KeyID: config.EAB.Kid, MACKey: config.EAB.HmacEncoded}
		if err := account.SetExternalAccountBinding(ctx, client, eab); err != nil {
			return account, storage.Account{}, fmt.Errorf("eab: %w", err)
		}
	}
	account, err := client.NewAccount(ctx, account)
	if err != nil {
		return account, storage.Account{}, err
	}
	if account.Status != "" && account.Status != acme.StatusValid {
		return account, storage.Account{}, fmt.Errorf("the authority says that it is %s", account.Status)
	}
	account.Status = acme.StatusValid
	text, err := encodeKey(account.PrivateKey)
	if err != nil {
		return account, storage.Account{}, err
	}
	body, err := json.Marshal(map[string]any{"status": account.Status, "contact": account.Contact})
	return account, storage.Account{Email: config.Email, URI: account.Location, Body: body, Key: text}, err
}

// rehearsal returns a session at the staging directory, with an account that is not stored.
func (r *resolver) rehearsal(ctx context.Context) (*session, error) {
	r.sessionLock.Lock()
	defer r.sessionLock.Unlock()
	if r.staging != nil {
		return r.staging, nil
	}
	opened := &session{client: newClient(r.config, stagingOf(r.config), r.client)}
	key, err := newKey("EC256")
	if err != nil {
		return nil, err
	}
	account, _, err := register(ctx, r.config, opened.client, key)
	if err != nil {
		return nil, err
	}
	opened.account = account
	r.staging = opened
	return opened, nil
}

// isGone reports whether the authority does not know what a URL named.
func isGone(err error) bool {
	var problem acme.Problem
	return errors.As(err, &problem) && (problem.Status == http.StatusNotFound || problem.Status == http.StatusGone)
}
