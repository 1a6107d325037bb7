package redis

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/sluiceproxy/sluice/certificate/storage/lease"
)

// Scripts of the leader's lock. KEYS is its key; ARGV are the token of this process, and milliseconds.
const (
	scriptTake = `local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`
	scriptRenew = `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`
	scriptRelease = `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`
)

// lock is the leader's lock, which has a token of its holder.
type lock struct {
	store *Store
	token string

	take, renew, release *redis.Script
}

func (l *lock) run(ctx context.Context, script *redis.Script) (bool, error) {
	done, err := script.Run(ctx, l.store.client, []string{l.store.key("leader")}, l.token,
		lease.Duration.Milliseconds()).Int()
	return done == 1, l.store.address.Wrap(err)
}

// Acquire takes the lock if it is free or this process has it.
func (l *lock) Acquire(ctx context.Context) (bool, error) { return l.run(ctx, l.take) }

// Renew prolongs the lock.
func (l *lock) Renew(ctx context.Context) (bool, error) { return l.run(ctx, l.renew) }

// Release gives the lock up.
func (l *lock) Release(ctx context.Context) error {
	_, err := l.run(ctx, l.release)
	return err
}
