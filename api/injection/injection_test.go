package injection_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorilla/mux"

	"github.com/sluiceproxy/sluice/api/injection"
	"github.com/sluiceproxy/sluice/inject/webhook"
	"github.com/sluiceproxy/sluice/telemetry"
)

// fixed has a status that does not change.
type fixed webhook.Status

func (f fixed) Status() webhook.Status { return webhook.Status(f) }

// TestTheStatusIsShown wants every field by its name, and no moment where there was none.
func TestTheStatusIsShown(t *testing.T) {
	moment := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	tests := []struct {
		name   string
		status webhook.Status
		want   string
	}{
		{
			name: "everything", status: webhook.Status{
				Injected: 3, Failed: 1, Refused: 2, NotReady: "no certificate", CertificateNotAfter: moment,
				AuthorityNotAfter: moment.AddDate(1, 0, 0),
				Skipped:           []webhook.Skipped{{Namespace: "shop", Reason: "PolicyOff", Pods: 7}},
				Reload:            webhook.Reload{At: moment, Error: "config:1: policy"},
			},
			want: `{"injected":3,"failed":1,"refused":2,"notReady":"no certificate",` +
				`"skipped":[{"namespace":"shop","reason":"PolicyOff","pods":7}],` +
				`"certificateNotAfter":"2026-05-04T03:02:01Z","authorityNotAfter":"2027-05-04T03:02:01Z",` +
				`"reload":{"at":"2026-05-04T03:02:01Z","error":"config:1: policy"}}`,
		},
		{
			name: "nothing yet", status: webhook.Status{Skipped: []webhook.Skipped{}},
			want: `{"injected":0,"failed":0,"refused":0,"skipped":[],"reload":{}}`,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			root := mux.NewRouter()
			injection.New(fixed(test.status), telemetry.Discard{}).Mount(root, "/ops")
			answer := httptest.NewRecorder()
			root.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/ops/api/injector", http.NoBody))
			if answer.Code != http.StatusOK || answer.Header().Get("Content-Type") != "application/json" {
				t.Errorf("status %d, header %v", answer.Code, answer.Header())
			}
			if diff := cmp.Diff(test.want+"\n", answer.Body.String()); diff != "" {
				t.Errorf("the answer (-want +got):\n%s", diff)
			}
		})
	}
}
