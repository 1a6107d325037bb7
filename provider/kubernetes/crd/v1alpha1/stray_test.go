package v1alpha1_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
)

// TestAMisfitCostsNothingBehindIt proves that what stands behind a value of the wrong type is still read: routes that
// were lost would leave their requests to others.
func TestAMisfitCostsNothingBehindIt(t *testing.T) {
	for _, misfit := range []string{
		`"services":[{"name":"a","port":99999999999}]`, `"services":[{"name":"a","port":1.5}]`,
		`"services":[{"name":"a","port":true}]`,
		`"services":[{"name":"a","port":{"number":80}}]`, `"services":[{"name":"a","healthCheck":{"interval":[1]}}]`,
		`"services":{"name":"a"}`, `"priority":"high"`, `"services":[{"name":1,"port":1.5}]`,
		`"priority":99999999999999999999`,
	} {
		var route v1alpha1.IngressRoute
		text := `{"spec":{"entryPoints":["web"],"routes":[{"match":"first",` + misfit +
			`},{"match":"second","services":[{"name":"b","port":80}]}],"tls":{}}}`
		if err := json.Unmarshal([]byte(text), &route); err != nil {
			t.Errorf("%s: %v", misfit, err)
			continue
		}
		spec := &route.Spec
		if len(spec.Routes) != 2 || spec.Routes[0].Match != "first" || spec.Routes[1].Services[0].Port.IntVal != 80 ||
			spec.TLS == nil {
			t.Errorf("%s: read %+v", misfit, spec)
		}
		if !strings.Contains(spec.Malformed, ": expected") {
			t.Errorf("%s: the mistake is reported as %q", misfit, spec.Malformed)
		}
	}
}
