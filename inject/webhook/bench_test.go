package webhook_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sluiceproxy/sluice/inject"
	"github.com/sluiceproxy/sluice/inject/webhook"
)

// BenchmarkHandler answers reviews of pods of a Deployment with the template sidecar, without a connection: pods of one
// workload, which differ in the name of the volume with their token, and pods that differ otherwise.
func BenchmarkHandler(b *testing.B) {
	for name, differs := range map[string]string{"workload": "abcde", "workloads": "6d4cf"} {
		b.Run(name, func(b *testing.B) { benchmarkHandler(b, differs) })
	}
}

// benchmarkHandler answers reviews that differ in five characters of a pod.
func benchmarkHandler(b *testing.B, differs string) {
	config, err := inject.Parse([]byte("policy: enabled\ndefaultTemplates: [sidecar]\n"), nil)
	if err != nil {
		b.Fatal(err)
	}
	body, err := os.ReadFile("testdata/review.json")
	if err != nil {
		b.Fatal(err)
	}
	h, _ := handler(config.Inject, func(options *webhook.Options) {
		options.NativeSidecars, options.Events, options.Meter = true, discard{}, discard{}
	})
	text, number := string(body), 0
	b.ReportAllocs()
	for b.Loop() {
		number++
		one := strings.ReplaceAll(text, differs, fmt.Sprintf("%05d", number%100_000))
		request := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/inject", strings.NewReader(one))
		request.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		if h.ServeHTTP(answer, request); answer.Code != http.StatusOK {
			b.Fatal(answer.Code, answer.Body)
		}
	}
}

// discard counts and records nothing.
type discard struct{}

func (discard) Reviewed(string, time.Duration) {}
func (discard) Skipped(string)                 {}
func (discard) Refused(int)                    {}
func (discard) Record(webhook.Decision)        {}
