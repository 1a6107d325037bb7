package redis

import (
	"context"
	"errors"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/certificate/storage/remote"
)

const (
	// pingInterval is after how long without a message a watch proves its connection.
	pingInterval = 5 * time.Second
	// checkInterval is how often a watch compares the version with that of the last message.
	checkInterval = 30 * time.Second
	// batch is how many values are read by one command.
	batch = 100
)

// Watch follows the published changes. It never returns an error.
func (s *Store) Watch(ctx context.Context, receive func(changes []storage.Change)) error {
	w := &watch{store: s, receive: receive}
	remote.Watch(ctx, s.address, s.logger, func(begun func()) error { return w.follow(ctx, begun) })
	return nil
}

// watch is one call of Watch.
type watch struct {
	store   *Store
	receive func(changes []storage.Change)
	// sent is what was passed on; nil before the first time. It is that of version or later.
	sent    map[storage.Key][]byte
	version int64
}

// follow passes changes on until ctx ends or the connection breaks, and returns why. It calls begun when all values
// have been read.
func (w *watch) follow(ctx context.Context, begun func()) error {
	messages := w.store.client.Subscribe(ctx, w.store.channel())
	closed := context.AfterFunc(ctx, func() { _ = messages.Close() }) // Receiving has no other end.
	defer func() {
		closed()
		_ = messages.Close()
	}()
	checked, silent := time.Now(), false
	for {
		message, err := messages.ReceiveTimeout(ctx, pingInterval)
		var network net.Error
		if errors.As(err, &network) && network.Timeout() && !silent && w.sent != nil {
			silent = true
			err = messages.Ping(ctx)
			message = nil
		} else {
			silent = false
		}
		if err != nil {
			return err
		}
		switch message := message.(type) {
		case *redis.Subscription: // The first message of each connection.
			err = w.readAll(ctx)
			begun()
		case *redis.Message:
			err = w.read(ctx, message.Payload)
		}
		if err == nil && time.Since(checked) >= checkInterval {
			checked = time.Now()
			err = w.check(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// check reads all values if a message was lost.
func (w *watch) check(ctx context.Context) error {
	version, err := w.readVersion(ctx)
	if err != nil || version == w.version {
		return err
	}
	return w.readAll(ctx)
}

func (w *watch) readVersion(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	version, err := w.store.client.Get(ctx, w.store.key("version")).Int64()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	return version, err
}

// read passes on the value that a message names.
func (w *watch) read(ctx context.Context, message string) error {
	number, name, _ := strings.Cut(message, " ")
	version, err := strconv.ParseInt(number, 10, 64)
	key, wrong := storage.DecodeKey(name)
	switch {
	case err != nil || wrong != nil || version > w.version+1:
		return w.readAll(ctx)
	case version <= w.version:
		return nil
	}
	values, err := w.readValues(ctx, []string{name})
	if err != nil {
		return err
	}
	next := maps.Clone(w.sent)
	delete(next, key)
	maps.Copy(next, values)
	w.send(next, version)
	return nil
}

// send passes on the difference to what was sent.
func (w *watch) send(values map[storage.Key][]byte, version int64) {
	changes, first := storage.Diff(w.sent, values), w.sent == nil
	w.sent, w.version = values, version
	if first || len(changes) > 0 {
		w.receive(changes)
	}
}

// readAll reads all values. Those that change meanwhile have a message that is read later.
func (w *watch) readAll(ctx context.Context) error {
	version, err := w.readVersion(ctx)
	if err != nil {
		return err
	}
	request, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	names, err := w.store.client.SMembers(request, w.store.key("index")).Result()
	if err != nil {
		return err
	}
	values := make(map[storage.Key][]byte, len(names))
	for part := range slices.Chunk(names, batch) {
		some, err := w.readValues(ctx, part)
		if err != nil {
			return err
		}
		maps.Copy(values, some)
	}
	w.send(values, version)
	return nil
}

// readValues reads the values with names. Missing ones are left out.
func (w *watch) readValues(ctx context.Context, names []string) (map[storage.Key][]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = w.store.key(name)
	}
	texts, err := w.store.client.MGet(ctx, keys...).Result()
	if err != nil {
		return nil, err
	}
	values := make(map[storage.Key][]byte, len(names))
	for i, text := range texts {
		key, err := storage.DecodeKey(names[i])
		if text, ok := text.(string); ok && err == nil {
			values[key] = []byte(text)
		}
	}
	return values, nil
}
