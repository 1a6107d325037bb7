package webhook_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluiceproxy/sluice/inject"
	"github.com/sluiceproxy/sluice/inject/webhook"
	"github.com/sluiceproxy/sluice/telemetry"
)

// lines keeps warnings and errors.
type lines struct {
	telemetry.Discard
	mu  sync.Mutex
	all []string
}

func (l *lines) Warn(message string, fields ...any)  { l.add(message, fields) }
func (l *lines) Error(message string, fields ...any) { l.add(message, fields) }

func (l *lines) add(message string, fields []any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, message+fmt.Sprintf("%v", fields))
}

// TestLogsAreBounded wants few lines about refused requests, and short ones about what a sender chooses.
func TestLogsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &lines{}
		long := strings.Repeat("é", 5000)
		h, _ := handler(func(inject.Input) (inject.Result, error) {
			return inject.Result{}, errors.New(long)
		}, func(o *webhook.Options) { o.Logger = log })
		for range 500 {
			post(h, "/inject", `{"kind":"`+long+`"}`)
		}
		if len(log.all) != 3 {
			t.Errorf("%d lines about 500 requests", len(log.all))
		}
		timer := time.NewTimer(time.Second)
		<-timer.C
		post(h, "/inject", "{")
		if last := log.all[len(log.all)-1]; !strings.Contains(last, "notLoggedBefore 497") {
			t.Error(last)
		}
		for _, field := range []string{"name", "generateName"} {
			post(h, "/inject", review(`"shop"`, `"`+long+`"`, `"name":"web"`, `"`+field+`":"`+long+`"`))
		}
		post(h, "/inject", review(`"uid"`, `"name":"`+long+`","uid"`))
		if len(log.all) != 7 {
			t.Errorf("%d lines", len(log.all))
		}
		for _, line := range log.all {
			if len(line) > 1000 || strings.Contains(line, "é") {
				t.Errorf("%d bytes: %.300s", len(line), line)
			}
		}
	})
}

// TestLogsOfFailuresAreBounded wants few lines about pods that fail, with the number of those without one.
func TestLogsOfFailuresAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &lines{}
		h, count := handler(func(inject.Input) (inject.Result, error) {
			return inject.Result{}, errors.New("a template fails")
		}, func(o *webhook.Options) { o.Logger = log })
		for range 500 {
			post(h, "/inject", review())
		}
		if len(log.all) != 3 || strings.Count(count.all(), "reviewed failed") != 500 {
			t.Errorf("%d lines about 500 pods", len(log.all))
		}
		post(h, "/inject", "{")
		if last := log.all[len(log.all)-1]; !strings.Contains(last, "is refused") {
			t.Errorf("a refusal after failures is not logged: %s", last)
		}
		timer := time.NewTimer(time.Second)
		<-timer.C
		post(h, "/inject", review())
		last := log.all[len(log.all)-1]
		if !strings.Contains(last, "notLoggedBefore 497") || !strings.Contains(last, "pod web") {
			t.Error(last)
		}
	})
}
