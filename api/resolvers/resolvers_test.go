package resolvers_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/mux"
	"go.uber.org/goleak"

	"github.com/sluiceproxy/sluice/api/resolvers"
	"github.com/sluiceproxy/sluice/certificate/acme"
	"github.com/sluiceproxy/sluice/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// sample has a resolver with a certificate in each state, and one that cannot be used.
func sample() []acme.ResolverStatus {
	one := func(name, state string, days int) acme.Status {
		status := acme.Status{Resolver: "le", Names: []string{name}, State: state}
		if days > 0 {
			status.NotAfter, status.Serial = noon.AddDate(0, 0, days), "2a"
		}
		return status
	}
	failing := one("failing.test", acme.StateFailing, 5)
	failing.Failures, failing.Next = 3, noon
	failing.Last = &acme.Failure{
		Time: noon, Type: "dns", Detail: "no such Name", Names: map[string]string{"failing.test": "dns: no"},
	}
	return []acme.ResolverStatus{
		{Name: "broken", Fault: "no challenge is configured", Certificates: []acme.Status{}},
		{Name: "le", Certificates: []acme.Status{
			one("a.test", acme.StateValid, 80), one("b.test", acme.StateValid, 40), one("due.test", acme.StateDue, 20),
			failing, one("new.test", acme.StatePending, 0), one("now.test", acme.StateOrdering, 0),
			one("old.test", acme.StateUnused, 1),
		}},
	}
}

func get(t *testing.T, status []acme.ResolverStatus, query string) *httptest.ResponseRecorder {
	t.Helper()
	root := mux.NewRouter()
	resolvers.New(resolvers.Options{
		Status: func() []acme.ResolverStatus { return status }, Logger: telemetry.Discard{},
	}).Mount(root, "/ops")
	answer := httptest.NewRecorder()
	root.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/ops/api/resolvers"+query,
		http.NoBody))
	return answer
}

func TestFiltersAndPages(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"":                         "failing.test now.test new.test due.test b.test a.test old.test of 7",
		"?state=valid":             "b.test a.test of 2",
		"?search=NO+SUCH+NAME":     "failing.test of 1",
		"?search=A.te":             "a.test of 1",
		"?resolver=broken":         " of 0",
		"?resolver=le&per_page=2":  "failing.test now.test of 7",
		"?per_page=3&page=3":       "old.test of 7",
		"?page=0":                  "invalid request: page is not a number of at least 1",
		"?search=%zz":              `query: invalid URL escape "%zz"`,
		"?state=valid&search=none": " of 0",
	} {
		answer := get(t, sample(), query)
		var decoded struct {
			resolvers.List
			Message string
		}
		if err := json.Unmarshal(answer.Body.Bytes(), &decoded); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, one := range decoded.Certificates {
			names = append(names, one.Names[0])
		}
		got := strings.Join(names, " ") + " of " + answer.Header().Get("X-Total-Count")
		if answer.Code != http.StatusOK {
			got = decoded.Message
		}
		if got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}

// TestAResolver wants each field by its name, and lists where there is nothing.
func TestAResolver(t *testing.T) {
	t.Parallel()
	want := `{"resolvers":[{"name":"broken","fault":"no challenge is configured","states":{}},{"name":"le","states":` +
		`{"due":1,"failing":1,"ordering":1,"pending":1,"unused":1,"valid":2}}],"certificates":[{"resolver":"le",` +
		`"names":["failing.test"],"state":"failing","notAfter":"2026-05-06T12:00:00Z","serial":"2a","failures":3,` +
		`"last":{"time":"2026-05-01T12:00:00Z","type":"dns","detail":"no such Name","names":{"failing.test":"dns: no"}},` +
		`"next":"2026-05-01T12:00:00Z"}]}` + "\n"
	if diff := cmp.Diff(want, get(t, sample(), "?state=failing").Body.String()); diff != "" {
		t.Error(diff)
	}
	if got := get(t, nil, "").Body.String(); got != `{"resolvers":[],"certificates":[]}`+"\n" {
		t.Error(got)
	}
}

// TestAnswersFitTheDocument compares answers with the OpenAPI document.
func TestAnswersFitTheDocument(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		t.Fatal(err)
	}
	responses := loaded.Paths.Find("/api/resolvers").Get.Responses
	for query, status := range map[string]int{"": 200, "?page=0": 400} {
		answer := get(t, sample(), query)
		var value any
		if err := json.Unmarshal(answer.Body.Bytes(), &value); err != nil || answer.Code != status {
			t.Fatalf("%s: status %d, %v", query, answer.Code, err)
		}
		if err := responses.Status(status).Value.Content.Get("application/json").Schema.Value.VisitJSON(value); err != nil {
			t.Errorf("%s: %v", query, err)
		}
	}
}
