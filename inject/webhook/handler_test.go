package webhook_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluiceproxy/sluice/inject"
	"github.com/sluiceproxy/sluice/inject/webhook"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// injector answers by a function.
type injector func(inject.Input) (inject.Result, error)

func (i injector) Inject(input inject.Input) (inject.Result, error) {
	result, err := i(input)
	if err == nil && result.Metadata == nil {
		var pod metav1.PartialObjectMetadata
		if err := json.Unmarshal(input.Pod, &pod); err != nil {
			return result, err
		}
		result.Metadata = &pod.ObjectMeta
	}
	return result, err
}

// fixed injects every pod.
func fixed(inject.Input) (inject.Result, error) {
	return inject.Result{
		Injected: true, Reason: inject.Reason{Code: inject.CodePolicy, Text: "the policy is enabled"},
		Patch: []byte(`[{"op":"add","path":"/metadata/labels","value":{}}]`), Templates: []string{"sidecar"},
	}, nil
}

// counter counts what a handler reports.
type counter struct {
	mu    sync.Mutex
	lines []string
}

func (c *counter) add(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, line)
}

func (c *counter) Reviewed(result string, _ time.Duration) { c.add("reviewed " + result) }
func (c *counter) Skipped(reason string)                   { c.add("skipped " + reason) }
func (c *counter) Refused(status int)                      { c.add(fmt.Sprint("refused ", status)) }
func (c *counter) Record(decision webhook.Decision) {
	c.add(fmt.Sprintf("event %v %s/%s", decision.Injected, decision.Pod.Namespace, decision.Pod.Name))
}

func (c *counter) all() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.lines, "; ")
}

// handler returns a handler, and what it counts.
func handler(decide injector, adjust func(*webhook.Options)) (*webhook.Handler, *counter) {
	count := &counter{}
	options := webhook.Options{
		Injector: func() webhook.Injector { return decide }, Events: count, Meter: count, Logger: telemetry.Discard{},
	}
	if adjust != nil {
		adjust(&options)
	}
	return webhook.NewHandler(options), count
}

// review returns a request for a pod; the replacements are pairs of old and new text.
func review(replacements ...string) string {
	return strings.NewReplacer(replacements...).Replace(`{
		"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u-1",
		"kind":{"version":"v1","kind":"Pod"},"resource":{"version":"v1","resource":"pods"},
		"namespace":"shop",
		"operation":"CREATE","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"}},"dryRun":false}}`)
}

func post(h http.Handler, path, body string) *httptest.ResponseRecorder {
	request := httptest.NewRequestWithContext(context.Background(), http.MethodPost, path, strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, request)
	return recorder
}

// answerOf parses the answer to a review.
func answerOf(t *testing.T, recorder *httptest.ResponseRecorder) admissionv1.AdmissionReview {
	t.Helper()
	var answer admissionv1.AdmissionReview
	if err := json.Unmarshal(recorder.Body.Bytes(), &answer); err != nil || answer.Response == nil {
		t.Fatalf("status %d: %v: %s", recorder.Code, err, recorder.Body)
	}
	return answer
}

// TestRequestsThatAreNoReviews lists the HTTP errors.
func TestRequestsThatAreNoReviews(t *testing.T) {
	for _, test := range []struct {
		name, method, path, kind, body string
		status                         int
		want                           string
	}{
		{"another method", http.MethodGet, "/inject", "application/json", "", 405, "only POST"},
		{"another path", http.MethodPost, "/injects", "application/json", review(), 404, "no such path"},
		{"no body", http.MethodPost, "/inject", "application/json", "", 400, "no body found"},
		{"another media type", http.MethodPost, "/inject", "text/plain", review(), 415, "application/json"},
		{"no media type", http.MethodPost, "/inject", "", review(), 415, "application/json"},
		{"parameters of the media type", http.MethodPost, "/inject", "application/json; charset=utf-8", review(), 200, "u-1"},
		{"no JSON", http.MethodPost, "/inject", "application/json", "{", 400, "not an AdmissionReview"},
		{"another kind", http.MethodPost, "/inject", "application/json", `{"kind":"Pod"}`, 400, `the kind "Pod"`},
		{
			"another version", http.MethodPost, "/inject", "application/json", review("k8s.io/v1", "k8s.io/v2"), 400,
			"expected admission.k8s.io/v1 or admission.k8s.io/v1beta1",
		},
		{
			"no request", http.MethodPost, "/inject", "application/json",
			`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`, 400, "no request",
		},
		{"too large", http.MethodPost, "/inject", "application/json", strings.Repeat(" ", 7<<20+1), 413, "larger than"},
	} {
		t.Run(test.name, func(t *testing.T) {
			h, count := handler(fixed, nil)
			request := httptest.NewRequestWithContext(t.Context(), test.method, test.path, strings.NewReader(test.body))
			if test.kind != "" {
				request.Header.Set("Content-Type", test.kind)
			}
			recorder := httptest.NewRecorder()
			h.ServeHTTP(recorder, request)
			if recorder.Code != test.status || !strings.Contains(recorder.Body.String(), test.want) {
				t.Errorf("%d %s", recorder.Code, recorder.Body)
			}
			if test.status == http.StatusMethodNotAllowed && recorder.Header().Get("Allow") != http.MethodPost {
				t.Error("Allow is missing")
			}
			if refused := fmt.Sprint("refused ", test.status); test.status != http.StatusOK && count.all() != refused {
				t.Errorf("counted %s", count.all())
			}
		})
	}
}

// TestAnswers lists the answers to reviews.
func TestAnswers(t *testing.T) {
	broken := func(inject.Input) (inject.Result, error) {
		return inject.Result{}, errors.New("the pod cannot be read: ü")
	}
	skipped := func(inject.Input) (inject.Result, error) {
		return inject.Result{Reason: inject.Reason{Code: inject.CodeHostNetwork}, Warnings: []string{"a"}}, nil
	}
	const changed = `{"uid":"u-1","allowed":true,` +
		`"patch":"W3sib3AiOiJhZGQiLCJwYXRoIjoiL21ldGFkYXRhL2xhYmVscyIsInZhbHVlIjp7fX1d","patchType":"JSONPatch"}`
	for _, test := range []struct {
		name   string
		decide injector
		adjust func(*webhook.Options)
		body   string
		want   string // the answer
		counts string
	}{
		{
			"injected", fixed, nil, review(),
			changed,
			"event true shop/web; reviewed injected",
		},
		{
			"the older version", fixed, nil, review("k8s.io/v1", "k8s.io/v1beta1"),
			changed,
			"event true shop/web; reviewed injected",
		},
		{
			"a dry run", fixed, nil, review(`"dryRun":false`, `"dryRun":true`),
			changed,
			"reviewed injected",
		},
		{
			"skipped", skipped, nil, review(), `{"uid":"u-1","allowed":true,"warnings":["a"]}`,
			"skipped HostNetwork; event false shop/web; reviewed skipped",
		},
		{
			"no pod", fixed, nil, review(`"resource":"pods"`, `"resource":"services"`), `{"uid":"u-1","allowed":true}`,
			"reviewed other",
		},
		{
			"a subresource", fixed, nil, review(`"operation"`, `"subResource":"status","operation"`),
			`{"uid":"u-1","allowed":true}`, "reviewed other",
		},
		{"an update", fixed, nil, review("CREATE", "UPDATE"), `{"uid":"u-1","allowed":true}`, "reviewed other"},
		{
			"a fault", broken, nil, review(),
			`{"uid":"u-1","allowed":true,"warnings":["sluice injector: the pod cannot be read: ?"]}`, "reviewed failed",
		},
		{
			"a fault that refuses", broken, func(o *webhook.Options) { o.OnError = webhook.Deny }, review(),
			`{"uid":"u-1","allowed":false,"status":{"metadata":{},"status":"Failure",` +
				`"message":"sluice injector: the pod cannot be read: ?","reason":"InternalError","code":500}}`, "reviewed failed",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			h, count := handler(test.decide, test.adjust)
			recorder := post(h, "/inject", test.body)
			var answer struct {
				APIVersion, Kind string
				Response         json.RawMessage
			}
			if err := json.Unmarshal(recorder.Body.Bytes(), &answer); err != nil {
				t.Fatalf("%v: %s", err, recorder.Body)
			}
			if diff := cmp.Diff(test.want, string(answer.Response)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if !strings.Contains(test.body, `"`+answer.APIVersion+`"`) || answer.Kind != "AdmissionReview" {
				t.Errorf("the answer is a %s %s", answer.APIVersion, answer.Kind)
			}
			if count.all() != test.counts {
				t.Errorf("counted %s, want %s", count.all(), test.counts)
			}
		})
	}
}

// TestPathsHaveVariables lists the forms of the path.
func TestPathsHaveVariables(t *testing.T) {
	for path, want := range map[string]string{
		"/inject":                                      "[]",
		"/inject/":                                     "[]",
		"/inject/cluster/one/net/two":                  "[{cluster one} {net two}]",
		"/inject/cluster/a--slash--b/":                 "[{cluster a/b}]",
		"/inject/cluster/a%20b/odd":                    "[{cluster a b}]",
		"/inject/:ENV:cluster=one:ENV:net=a--slash--b": "[{cluster one} {net a/b}]",
		"/inject/" + strings.Repeat("a/b/", 33):        "404",
	} {
		var got string
		h, _ := handler(func(input inject.Input) (inject.Result, error) {
			got = fmt.Sprint(input.Environment)
			return inject.Result{}, nil
		}, nil)
		if recorder := post(h, path, review()); recorder.Code != http.StatusOK {
			got = fmt.Sprint(recorder.Code)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// TestPanicIsAnError wants 500 for one review, and answers to the next.
func TestPanicIsAnError(t *testing.T) {
	first := true
	h, count := handler(func(input inject.Input) (inject.Result, error) {
		if first {
			first = false
			panic("broken")
		}
		return fixed(input)
	}, nil)
	if recorder := post(h, "/inject", review()); recorder.Code != http.StatusInternalServerError ||
		strings.Contains(recorder.Body.String(), "broken") {
		t.Errorf("%d %s", recorder.Code, recorder.Body)
	}
	if recorder := post(h, "/inject", review()); !answerOf(t, recorder).Response.Allowed {
		t.Errorf("%s", recorder.Body)
	}
	if got := count.all(); !strings.HasPrefix(got, "refused 500; ") {
		t.Errorf("counted %s", got)
	}
}

// TestWithoutConfiguration wants 503, upon which the API server does what failurePolicy says.
func TestWithoutConfiguration(t *testing.T) {
	h, _ := handler(nil, func(o *webhook.Options) { o.Injector = func() webhook.Injector { return nil } })
	if recorder := post(h, "/inject", review()); recorder.Code != http.StatusServiceUnavailable {
		t.Errorf("%d %s", recorder.Code, recorder.Body)
	}
}

// TestWarningsAreBounded wants few, short and printable warnings.
func TestWarningsAreBounded(t *testing.T) {
	h, _ := handler(func(inject.Input) (inject.Result, error) {
		var all []string
		for range 50 {
			all = append(all, strings.Repeat("é\n", 200))
		}
		return inject.Result{Warnings: all}, nil
	}, nil)
	warnings := answerOf(t, post(h, "/inject", review())).Response.Warnings
	if len(warnings) != 10 || len(warnings[0]) != 120 || strings.ContainsAny(warnings[0], "é\n") {
		t.Errorf("%d %q", len(warnings), warnings)
	}
}

// TestCanaryIsMarked marks the one pod that asks for it, in a dry run alone.
func TestCanaryIsMarked(t *testing.T) {
	h, _ := handler(fixed, nil)
	canary := `"metadata":{"annotations":{"` + webhook.CanaryAnnotation + `":"proof"},`
	for name, test := range map[string]struct {
		body string
		want bool
	}{
		"a canary":      {review(`"metadata":{`, canary, `"dryRun":false`, `"dryRun":true`), true},
		"no dry run":    {review(`"metadata":{`, canary), false},
		"no annotation": {review(`"dryRun":false`, `"dryRun":true`), false},
	} {
		patch := string(answerOf(t, post(h, "/inject", test.body)).Response.Patch)
		if got := strings.Contains(patch, `canary-result","value":"proof"`); got != test.want ||
			!strings.HasPrefix(patch, `[{"op":"add","path":"/metadata/labels","value":{}}`) {
			t.Errorf("%s: %s", name, patch)
		}
	}
}

// TestStatusIsBounded counts pairs of namespace and reason, and the rest without a namespace.
func TestStatusIsBounded(t *testing.T) {
	h, _ := handler(func(inject.Input) (inject.Result, error) {
		return inject.Result{Reason: inject.Reason{Code: inject.CodePolicyOff}}, nil
	}, nil)
	for i := range 600 {
		post(h, "/inject", review(`"shop"`, fmt.Sprintf(`"n-%d"`, i)))
	}
	status := h.Status()
	if len(status.Skipped) != 501 || status.Skipped[0] != (webhook.Skipped{Reason: "PolicyOff", Pods: 100}) {
		t.Errorf("%d %v", len(status.Skipped), status.Skipped[0])
	}
}

// FuzzReview wants an answer to everything, of a review that has the UID of the request or an HTTP error.
func FuzzReview(f *testing.F) {
	f.Add("/inject", []byte(review()))
	f.Add("/inject/a/b", []byte(review("k8s.io/v1", "k8s.io/v1beta1", `"dryRun":false`, `"dryRun":true`)))
	f.Add("/inject", []byte(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{}}`))
	f.Add("/inject", []byte(review(`{"apiVersion":"v1","kind":"Pod"`, `{"metadata":{"annotations":{"a":1}}`)))
	core, err := inject.Parse([]byte("policy: enabled\nbuiltinTemplates: [env-tag]\ndefaultTemplates: [env-tag]\n"), nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, path string, body []byte) {
		h, count := handler(core.Inject, nil)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://a/", strings.NewReader(string(body)))
		if err != nil {
			t.Fatal(err)
		}
		request.URL.Path = path
		request.Header.Set("Content-Type", "application/json")
		recorder := httptest.NewRecorder()
		h.ServeHTTP(recorder, request)
		if strings.Contains(count.all(), "refused 500") {
			t.Fatalf("an internal error: %s", recorder.Body)
		}
		if recorder.Code != http.StatusOK {
			return
		}
		var asked admissionv1.AdmissionReview
		if err := json.Unmarshal(body, &asked); err != nil {
			t.Fatalf("an answer to what does not parse: %v", err)
		}
		if answer := answerOf(t, recorder); answer.Response.UID != asked.Request.UID || !answer.Response.Allowed {
			t.Fatalf("%s", recorder.Body)
		}
	})
}
