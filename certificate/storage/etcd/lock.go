package etcd

import (
	"context"
	"errors"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/sluiceproxy/sluice/certificate/storage/lease"
)

// lock is the leader's lock: a key that ends with a lease.
type lock struct {
	store *Store
	token string
	// id is the lease that was granted; zero if there is none.
	id clientv3.LeaseID
}

func (l *lock) key() string { return l.store.prefix + "/leader" }

// Acquire creates the key if there is none.
func (l *lock) Acquire(ctx context.Context) (held bool, err error) {
	err = l.store.do(ctx, func(ctx context.Context, client *clientv3.Client) error {
		holder, err := client.Get(ctx, l.key(), clientv3.WithKeysOnly())
		if err != nil || len(holder.Kvs) > 0 {
			return err
		}
		granted, err := client.Grant(ctx, int64(lease.Duration.Seconds()))
		if err != nil {
			return err
		}
		l.id = granted.ID
		answer, err := client.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(l.key()), "=", 0)).
			Then(clientv3.OpPut(l.key(), l.token, clientv3.WithLease(l.id))).Commit()
		if err != nil {
			return err // The lease is revoked by Release.
		}
		held = answer.Succeeded
		return nil
	})
	if err == nil && !held {
		err = l.Release(ctx)
	}
	return held, err
}

// Renew prolongs the lease.
func (l *lock) Renew(ctx context.Context) (held bool, err error) {
	err = l.store.do(ctx, func(ctx context.Context, client *clientv3.Client) error {
		answer, err := client.KeepAliveOnce(ctx, l.id)
		if errors.Is(err, rpctypes.ErrLeaseNotFound) {
			return nil
		}
		held = err == nil && answer.TTL > 0
		return err
	})
	return held, err
}

// Release revokes the lease, and the key with it. If that fails, it expires.
func (l *lock) Release(ctx context.Context) error {
	if l.id == 0 {
		return nil
	}
	id := l.id
	l.id = 0
	return l.store.do(ctx, func(ctx context.Context, client *clientv3.Client) error {
		_, err := client.Revoke(ctx, id)
		if errors.Is(err, rpctypes.ErrLeaseNotFound) {
			return nil
		}
		return err
	})
}
