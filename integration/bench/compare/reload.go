package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// manyRouters is the number of routers in rows with many.
	manyRouters = 10_000
	// reloadEvery is the interval of changes.
	reloadEvery = time.Second
)

// reload changes the rules of all routers every second, until the context is over. It returns the number of new tables.
func reload(ctx context.Context, p *proxy) (string, error) {
	file := filepath.Join(p.job.Dir, "dynamic.yaml")
	var texts [2][]byte
	for i, prefix := range []string{"/s", "/"} { // Both are prefixes of the request's path.
		changed := p.job
		changed.Prefix = prefix
		text, err := rendered("dynamic.yaml", changed)
		if err != nil {
			return "", err
		}
		texts[i] = text
	}
	activated := func() (int, error) {
		text, err := os.ReadFile(p.output)
		return strings.Count(string(text), "table activated"), err
	}
	before, err := activated()
	if err != nil {
		return "", err
	}
	written := 0
	for ctx.Err() == nil {
		if err := replace(file, texts[written%2]); err != nil {
			return "", err
		}
		written++
		_ = pause(ctx, reloadEvery) // The loop checks the context.
	}
	after, err := activated()
	if err == nil && after == before {
		err = fmt.Errorf("the file was written %d times, and no table was activated", written)
	}
	return fmt.Sprintf("the file was written %d times, and %d tables were activated", written, after-before), err
}
