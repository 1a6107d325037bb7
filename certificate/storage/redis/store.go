// Package redis keeps certificates in Redis.
//
// A value is a string under the key PREFIX:kind:resolver:id, of which resolver and ID are escaped. The names of all
// values are in the set PREFIX:index. Each change counts PREFIX:version up and is published on the channel
// PREFIX:changes with that number, by which a watch notices that it has missed one; it then reads all values. The
// leader has the key PREFIX:leader, which expires.
//
// Redis 5 or newer is needed, as one server or a primary with replicas; a Redis Cluster is not supported. What Put has
// stored survives a crash of Redis as far as its own persistence goes (appendonly). With ACLs, a user needs +eval
// +evalsha +get +set +del +mget +sadd +srem +smembers +incr +publish +subscribe +ping +select +pexpire on
// ~PREFIX:* and &PREFIX:changes.
package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/certificate/storage/lease"
	"github.com/sluiceproxy/sluice/certificate/storage/remote"
	"github.com/sluiceproxy/sluice/telemetry"
)

const (
	// timeout bounds one operation, and dialTimeout making a connection.
	timeout     = 5 * time.Second
	dialTimeout = 3 * time.Second
	// idleTimeout is after how long without use a connection is given up.
	idleTimeout = time.Minute
	// poolSize is the highest number of connections, apart from those of watches.
	poolSize = 4
	// defaultPrefix is the first part of keys without the parameter prefix.
	defaultPrefix   = "sluice"
	parameterPrefix = "prefix"
)

// scriptPut sets a value and scriptDelete deletes one. KEYS are that of the value, the index and the version; ARGV are
// the name of the value, the channel, and the value.
const (
	scriptPut = `redis.call('SET', KEYS[1], ARGV[3])
redis.call('SADD', KEYS[2], ARGV[1])
redis.call('PUBLISH', ARGV[2], redis.call('INCR', KEYS[3]) .. ' ' .. ARGV[1])
return 1`
	scriptDelete = `redis.call('SREM', KEYS[2], ARGV[1])
if redis.call('DEL', KEYS[1]) == 0 then return 0 end
redis.call('PUBLISH', ARGV[2], redis.call('INCR', KEYS[3]) .. ' ' .. ARGV[1])
return 1`
)

// Store is a storage.Store in Redis.
type Store struct {
	client  *redis.Client
	address *remote.Address
	logger  telemetry.Logger
	prefix  string

	put, remove *redis.Script
}

// Open returns the store at redis://[user:password@]host[:6379][/db][?prefix=sluice], or rediss:// for TLS with the
// parameters ca, cert and key, which name files. It connects when it is used, and its connections end with ctx. An
// error means that the address is wrong, and does not contain the password.
func Open(ctx context.Context, address string, logger telemetry.Logger) (*Store, error) {
	a, err := remote.Parse(address, remote.Form{
		Scheme: "redis", Secure: "rediss", Port: "6379", Hosts: 1, Parameters: []string{parameterPrefix},
	})
	if err != nil {
		return nil, err
	}
	db := 0
	if a.Path != "" {
		if db, err = strconv.Atoi(a.Path); err != nil || db < 0 {
			return nil, fmt.Errorf("%s: the database %q is not a number", a, a.Path)
		}
	}
	prefix := a.Query.Get(parameterPrefix)
	if prefix == "" {
		prefix = defaultPrefix
	}
	logging.Disable() // The library would write lines of its own to stderr.
	client := redis.NewClient(&redis.Options{
		Addr: a.Hosts[0], Username: a.Username, Password: a.Password, DB: db, TLSConfig: a.TLS,
		DialTimeout: dialTimeout, ReadTimeout: timeout, WriteTimeout: timeout, PoolTimeout: timeout,
		PoolSize: poolSize, ConnMaxIdleTime: idleTimeout, ContextTimeoutEnabled: true,
		Protocol: 2, DisableIdentity: true, MaxRetries: 1, DialerRetries: 1,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	context.AfterFunc(ctx, func() { _ = client.Close() }) // An error would mean that it is closed.
	return &Store{
		client: client, address: a, logger: logger, prefix: prefix,
		put: redis.NewScript(scriptPut), remove: redis.NewScript(scriptDelete),
	}, nil
}

// key returns the name of something in Redis.
func (s *Store) key(name string) string { return s.prefix + ":" + name }

func (s *Store) channel() string { return s.key("changes") }

// Get reads a value.
func (s *Store) Get(ctx context.Context, key storage.Key) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	value, err := s.client.Get(ctx, s.key(storage.EncodeKey(key))).Bytes()
	if errors.Is(err, redis.Nil) {
		err = fs.ErrNotExist
	}
	return value, s.failure(ctx, err)
}

// Put sets a value.
func (s *Store) Put(ctx context.Context, key storage.Key, value []byte) error {
	return s.change(ctx, s.put, key, value)
}

// Delete deletes a value.
func (s *Store) Delete(ctx context.Context, key storage.Key) error {
	return s.change(ctx, s.remove, key)
}

// change runs a script for a value.
func (s *Store) change(ctx context.Context, script *redis.Script, key storage.Key, value ...any) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	name := storage.EncodeKey(key)
	keys := []string{s.key(name), s.key("index"), s.key("version")}
	return s.failure(ctx, script.Run(ctx, s.client, keys, append([]any{name, s.channel()}, value...)...).Err())
}

// failure adds the address to an error. The client is closed when the store's context ends: the error of a call that
// met the closed client is then that of its context, which is the cause.
func (s *Store) failure(ctx context.Context, err error) error {
	if errors.Is(err, redis.ErrClosed) && ctx.Err() != nil {
		err = ctx.Err()
	}
	return s.address.Wrap(err)
}

// Lead elects a replica by a key that expires.
func (s *Store) Lead(ctx context.Context, lead func(ctx context.Context)) error {
	l := &lock{
		store: s, token: rand.Text(),
		take: redis.NewScript(scriptTake), renew: redis.NewScript(scriptRenew), release: redis.NewScript(scriptRelease),
	}
	return lease.Lead(ctx, l, s.logger, lead)
}
