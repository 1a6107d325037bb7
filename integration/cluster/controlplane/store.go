package main

import (
	"fmt"
	"net/url"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
)

// Addresses of etcd for clients and peers; there are no peers.
const (
	storeClients = "http://127.0.0.1:2379"
	storePeers   = "http://127.0.0.1:2380"
)

// startStore starts etcd and waits until it is the leader.
func startStore(s settings) (stop func(), err error) {
	config := embed.NewConfig()
	config.Name = "store"
	config.Dir = s.file("etcd")
	config.LogLevel = "error"
	config.UnsafeNoFsync = true
	config.QuotaBackendBytes = 4 << 30
	config.TickMs, config.ElectionMs = 10, 100 // There is one member, so elections are fast.
	clients, err := url.Parse(storeClients)
	if err != nil {
		return nil, err
	}
	peers, err := url.Parse(storePeers)
	if err != nil {
		return nil, err
	}
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{*clients}, []url.URL{*clients}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{*peers}, []url.URL{*peers}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	store, err := embed.StartEtcd(config)
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-store.Server.ReadyNotify():
		return store.Close, nil
	case err := <-store.Err():
		return nil, fmt.Errorf("etcd: %w", err)
	case <-timer.C:
		store.Close()
		return nil, fmt.Errorf("etcd: not ready within %v", timeout)
	}
}
