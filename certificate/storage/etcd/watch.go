package etcd

import (
	"context"
	"errors"
	"maps"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/certificate/storage/remote"
)

const (
	// page is how many values are read by one request.
	page = 200
)

// Watch follows the changes since the revision of the values that it has read first. When etcd has forgotten a
// revision, all values are read again, and the difference is passed on. It never returns an error.
func (s *Store) Watch(ctx context.Context, receive func(changes []storage.Change)) error {
	w := &watch{store: s, receive: receive}
	remote.Watch(ctx, s.address, s.logger, func(begun func()) error { return w.follow(ctx, begun) })
	return nil
}

// watch is one call of Watch.
type watch struct {
	store   *Store
	receive func(changes []storage.Change)
	// sent is what was passed on; nil before the first time.
	sent map[storage.Key][]byte
}

// follow reads all values and passes changes on until ctx ends or the watch does, and returns why. It calls begun when
// all values have been read.
func (w *watch) follow(ctx context.Context, begun func()) error {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	client, err := w.store.client(ctx)
	if err != nil {
		return err
	}
	values, revision, err := w.readAll(ctx, client)
	if err != nil {
		return err
	}
	w.send(values)
	begun()
	for answer := range client.Watch(ctx, w.store.values(), clientv3.WithPrefix(), clientv3.WithRev(revision+1)) {
		if err := answer.Err(); err != nil {
			return err
		}
		next := maps.Clone(w.sent)
		for _, event := range answer.Events {
			key, ok := w.decode(event.Kv.Key)
			switch {
			case !ok:
			case event.Type == clientv3.EventTypeDelete:
				delete(next, key)
			default:
				next[key] = append([]byte{}, event.Kv.Value...)
			}
		}
		w.send(next)
	}
	return errors.New("the watch has ended")
}

// decode returns the key of a value. Keys of others are left out.
func (w *watch) decode(text []byte) (storage.Key, bool) {
	key, err := storage.DecodeKey(strings.TrimPrefix(string(text), w.store.values()))
	return key, err == nil
}

// send passes on the difference to what was sent.
func (w *watch) send(values map[storage.Key][]byte) {
	changes, first := storage.Diff(w.sent, values), w.sent == nil
	w.sent = values
	if first || len(changes) > 0 {
		w.receive(changes)
	}
}

// readAll returns all values as they were at one revision.
func (w *watch) readAll(ctx context.Context, client *clientv3.Client) (map[storage.Key][]byte, int64, error) {
	values, revision := map[storage.Key][]byte{}, int64(0)
	from, end := w.store.values(), clientv3.GetPrefixRangeEnd(w.store.values())
	for {
		request, cancel := context.WithTimeout(ctx, timeout)
		answer, err := client.Get(request, from, clientv3.WithRange(end), clientv3.WithLimit(page),
			clientv3.WithRev(revision))
		cancel()
		if err != nil {
			return nil, 0, err
		}
		if revision == 0 {
			revision = answer.Header.Revision
		}
		for _, pair := range answer.Kvs {
			if key, ok := w.decode(pair.Key); ok {
				values[key] = append([]byte{}, pair.Value...)
			}
		}
		if !answer.More || len(answer.Kvs) == 0 {
			return values, revision, nil
		}
		from = string(answer.Kvs[len(answer.Kvs)-1].Key) + "\x00"
	}
}
