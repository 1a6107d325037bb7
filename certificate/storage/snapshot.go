package storage

import (
	"context"
	"errors"
	"fmt"
)

// Snapshot returns all present values. It fails when ctx ends before the storage has answered.
func Snapshot(ctx context.Context, from Reader) (map[Key][]byte, error) {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	var values map[Key][]byte
	err := from.Watch(watching, func(changes []Change) {
		if values != nil {
			return // Changes after the present values.
		}
		values = make(map[Key][]byte, len(changes))
		for _, change := range changes {
			values[change.Key] = change.Value
		}
		stop()
	})
	switch {
	case err != nil:
		return nil, err
	case values == nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("the storage does not answer: %w", ctx.Err())
	case values == nil:
		return nil, ctx.Err()
	}
	return values, nil
}
