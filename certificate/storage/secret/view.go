package secret

import (
	"context"
	"errors"
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluiceproxy/sluice/certificate/storage"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
)

// view is what the watch of the Secrets has seen. All calls of Watch read it.
type view struct {
	store   *Store
	watched *client.Watched[*corev1.Secret]

	mu     sync.Mutex
	values map[storage.Key][]byte
	// changed is closed and replaced when values or the status of the watch change.
	changed chan struct{}
}

// init begins to follow a watch, which does not run yet.
func (v *view) init(store *Store, watched *client.Watched[*corev1.Secret]) {
	v.store, v.watched = store, watched
	v.values, v.changed = map[storage.Key][]byte{}, make(chan struct{})
	watched.Notify(v.note)
	store.cluster.OnStatus(func() { v.update(func() {}) })
}

// update changes the view and wakes all that wait for it.
func (v *view) update(change func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	change()
	close(v.changed)
	v.changed = make(chan struct{})
}

// note takes a change of one Secret. Secrets with the label that can't be read are logged and left out.
func (v *view) note(before, after *corev1.Secret) {
	if after == nil {
		if key, _, err := decode(before); err == nil {
			v.update(func() { delete(v.values, key) })
		}
		return
	}
	key, value, err := decode(after)
	if err != nil {
		v.store.logger.Warn("a Secret with a certificate's label is not used", "namespace", after.Namespace,
			"name", after.Name, "reason", err.Error())
		return
	}
	v.update(func() { v.values[key] = value })
}

// read returns the values, and what is closed when they change. They are nil until all of them are known. An error
// means that they may not be read.
func (v *view) read() (map[storage.Key][]byte, <-chan struct{}, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch status := v.watched.Status(); status.State {
	case dynamic.StateSynced:
		return maps.Clone(v.values), v.changed, nil
	case dynamic.StateForbidden, dynamic.StateAbsent:
		return nil, v.changed, errors.New("kubernetes: " + status.Reason)
	default:
		return nil, v.changed, nil
	}
}

// Watch passes on what the watch of the Secrets sees. It returns an error if they may not be read from the beginning;
// a permission that is lost later is logged, and the last known values stay.
func (s *Store) Watch(ctx context.Context, receive func(changes []storage.Change)) error {
	var sent map[storage.Key][]byte
	for {
		values, changed, err := s.view.read()
		if err != nil && sent == nil {
			return err
		}
		if values != nil {
			changes, first := storage.Diff(sent, values), sent == nil
			sent = values
			if first || len(changes) > 0 {
				receive(changes)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		}
	}
}
