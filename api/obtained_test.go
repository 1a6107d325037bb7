package api

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/certificate/acme"
	"github.com/sluiceproxy/sluice/static"
)

// TestCertificatesOfResolvers wants the state of a certificate of a resolver, and none of another with the same number.
func TestCertificatesOfResolvers(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Second)
	own := issue(t, "own.test", now.Add(-time.Hour), now.Add(40*24*time.Hour))
	foreign := issue(t, "foreign.test", now.Add(-time.Hour), now.Add(50*24*time.Hour))
	options := sampleOptions()
	options.Certificates = chain{own, foreign}.Certificates
	options.Static.CertificatesResolvers = map[string]*static.CertificateResolver{"le": {}}
	failure := &acme.Failure{Time: now, Type: "dns", Detail: "no such name"}
	options.Resolvers = func() []acme.ResolverStatus {
		return []acme.ResolverStatus{{Name: "le", Certificates: []acme.Status{
			{Resolver: "le", Names: []string{"new.test"}, State: acme.StatePending},
			{
				Resolver: "le", Names: []string{"own.test"}, State: acme.StateFailing, Serial: own.SerialNumber.Text(16),
				NotAfter: own.NotAfter, Renew: now, Next: now.Add(time.Hour), Failures: 2, Last: failure,
				Routers: []string{"shop@file"},
			},
		}}}
	}
	handler := New(options)
	want := map[string]*obtained{"foreign.test": nil, "own.test": {
		Resolver: "le", State: "failing", Renew: now, Next: now.Add(time.Hour), Failures: 2, Last: failure,
		Routers: []string{"shop@file"},
	}}
	listed := ask(t, handler, http.MethodGet, "/api/certificates").Body.Bytes()
	fits(t, schemaOf(t, published(t), "/api/certificates", http.StatusOK), listed)
	var list []certificate
	if err := json.Unmarshal(listed, &list); err != nil {
		t.Fatal(err)
	}
	got := map[string]*obtained{}
	for _, one := range list {
		got[one.CommonName] = one.ACME
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var shown certificate
	answer := ask(t, handler, http.MethodGet, "/api/certificates/"+fingerprint(own.Raw))
	if err := json.Unmarshal(answer.Body.Bytes(), &shown); err != nil || shown.ACME == nil {
		t.Errorf("%v: %s", err, answer.Body)
	}
	var overview struct{ Features features }
	answer = ask(t, handler, http.MethodGet, "/api/overview")
	if err := json.Unmarshal(answer.Body.Bytes(), &overview); err != nil || !overview.Features.CertificatesResolvers {
		t.Errorf("%v: %s", err, answer.Body)
	}
}
