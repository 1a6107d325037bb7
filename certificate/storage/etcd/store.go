// Package etcd keeps certificates in etcd.
//
// A value has the key PREFIX/values/kind:resolver:id, of which resolver and ID are escaped, and the leader
// PREFIX/leader with a lease. etcd 3.5 or newer is needed. With authentication, a user needs to read and write
// everything below PREFIX/. A value may have 1.5 MB unless the servers are configured otherwise.
package etcd

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/certificate/storage/lease"
	"github.com/sluiceproxy/sluice/certificate/storage/remote"
	"github.com/sluiceproxy/sluice/telemetry"
)

const (
	// timeout bounds one operation, and dialTimeout the login.
	timeout     = 5 * time.Second
	dialTimeout = 3 * time.Second
	// A connection on which nothing arrives for keepAlive is asked, and given up after keepAliveTimeout.
	keepAlive        = 10 * time.Second
	keepAliveTimeout = 5 * time.Second
	// maxHosts is the highest number of members in an address.
	maxHosts = 9
	// defaultPrefix is the first part of keys in an address without one.
	defaultPrefix = "sluice"
)

// Store is a storage.Store in etcd.
type Store struct {
	life    context.Context
	address *remote.Address
	logger  telemetry.Logger
	prefix  string

	mu     sync.Mutex
	shared *clientv3.Client
}

// Open returns the store at etcd://[user:password@]host[:2379][,host...][/prefix], or etcds:// for TLS with the
// parameters ca, cert and key, which name files. It connects when it is used, and its connections end with ctx. An
// error means that the address is wrong, and does not contain the password.
func Open(ctx context.Context, address string, logger telemetry.Logger) (*Store, error) {
	a, err := remote.Parse(address, remote.Form{Scheme: "etcd", Secure: "etcds", Port: "2379", Hosts: maxHosts})
	if err != nil {
		return nil, err
	}
	prefix := a.Path
	if prefix == "" {
		prefix = defaultPrefix
	}
	return &Store{life: ctx, address: a, logger: logger, prefix: prefix}, nil
}

// client returns the connection, which is made once. With a password, that takes a login.
func (s *Store) client(ctx context.Context) (*clientv3.Client, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := errors.Join(ctx.Err(), s.life.Err()); err != nil {
		return nil, err
	}
	if s.shared != nil {
		return s.shared, nil
	}
	scheme := "http://"
	if s.address.TLS != nil {
		scheme = "https://"
	}
	endpoints := make([]string, len(s.address.Hosts))
	for i, host := range s.address.Hosts {
		endpoints[i] = scheme + host
	}
	made, err := clientv3.New(clientv3.Config{
		Context: context.WithoutCancel(s.life), Endpoints: endpoints, TLS: s.address.TLS,
		Username: s.address.Username, Password: s.address.Password,
		DialTimeout: dialTimeout, DialKeepAliveTime: keepAlive, DialKeepAliveTimeout: keepAliveTimeout,
		PermitWithoutStream: true, Logger: zap.NewNop(),
	})
	if err != nil {
		return nil, err
	}
	s.shared = made
	context.AfterFunc(s.life, func() { _ = made.Close() }) // It says that it was ended.
	return made, nil
}

func (s *Store) values() string { return s.prefix + "/values/" }

func (s *Store) key(key storage.Key) string { return s.values() + storage.EncodeKey(key) }

// do runs one operation.
func (s *Store) do(ctx context.Context, operation func(ctx context.Context, client *clientv3.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	client, err := s.client(ctx)
	if err == nil {
		err = operation(ctx, client)
	}
	return s.address.Wrap(err)
}

// Get reads a value.
func (s *Store) Get(ctx context.Context, key storage.Key) (value []byte, err error) {
	err = s.do(ctx, func(ctx context.Context, client *clientv3.Client) error {
		answer, err := client.Get(ctx, s.key(key))
		if err != nil {
			return err
		}
		if len(answer.Kvs) == 0 {
			return fs.ErrNotExist
		}
		value = append([]byte{}, answer.Kvs[0].Value...)
		return nil
	})
	return value, err
}

// Put sets a value.
func (s *Store) Put(ctx context.Context, key storage.Key, value []byte) error {
	return s.do(ctx, func(ctx context.Context, client *clientv3.Client) error {
		_, err := client.Put(ctx, s.key(key), string(value))
		return err
	})
}

// Delete deletes a value.
func (s *Store) Delete(ctx context.Context, key storage.Key) error {
	return s.do(ctx, func(ctx context.Context, client *clientv3.Client) error {
		_, err := client.Delete(ctx, s.key(key))
		return err
	})
}

// Lead elects a replica by a key with a lease.
func (s *Store) Lead(ctx context.Context, lead func(ctx context.Context)) error {
	return lease.Lead(ctx, &lock{store: s, token: rand.Text()}, s.logger, lead)
}
