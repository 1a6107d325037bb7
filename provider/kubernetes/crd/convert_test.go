package crd

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/crd/v1alpha1"
)

// TestTreeKeepsWhatIsGiven proves that the document says what the manifest says: no more, and no less.
func TestTreeKeepsWhatIsGiven(t *testing.T) {
	zero := int64(0)
	period := intstr.FromInt32(2)
	timeout := intstr.FromString("1m30s")
	nobody := []string{}
	for _, test := range []struct {
		name string
		spec any
		want string
	}{
		{"nothing", v1alpha1.MiddlewareSpec{}, `{}`},
		{"an empty kind", v1alpha1.MiddlewareSpec{ContentType: &v1alpha1.ContentType{}}, `{"contentType":{}}`},
		{
			"zero behind a pointer",
			v1alpha1.MiddlewareSpec{RateLimit: &v1alpha1.RateLimit{Burst: &zero}},
			`{"rateLimit":{"burst":0}}`,
		},
		{
			"zero that is the same as nothing",
			v1alpha1.MiddlewareSpec{InFlightReq: &v1alpha1.InFlightReq{}},
			`{"inFlightReq":{}}`,
		},
		{
			"an empty list",
			v1alpha1.MiddlewareSpec{Compress: &v1alpha1.Compress{Encodings: nobody}},
			`{"compress":{"encodings":[]}}`,
		},
		{
			"an empty list behind a pointer",
			v1alpha1.MiddlewareSpec{Errors: &v1alpha1.ErrorPage{ErrorRequestHeaders: &nobody}},
			`{"errors":{"errorRequestHeaders":[]}}`,
		},
		{
			"numbers and strings for durations",
			v1alpha1.MiddlewareSpec{Retry: &v1alpha1.Retry{InitialInterval: &period, Timeout: &timeout}},
			`{"retry":{"initialInterval":2,"timeout":"1m30s"}}`,
		},
		{
			"free objects",
			v1alpha1.MiddlewareSpec{Plugin: map[string]runtime.RawExtension{
				"b": {Raw: []byte(`{"z":1.5,"a":[true,null,{"x":"y"}]}`)}, "a": {},
			}},
			`{"plugin":{"a":null,"b":{"a":[true,null,{"x":"y"}],"z":1.5}}}`,
		},
		{
			"embedded fields",
			v1alpha1.ClientTLSWithCAOptional{ClientTLS: v1alpha1.ClientTLS{CASecret: "a"}},
			`{"caSecret":"a"}`,
		},
		{"nil", (*v1alpha1.MiddlewareSpec)(nil), `null`},
	} {
		t.Run(test.name, func(t *testing.T) {
			node, err := tree(test.spec)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(native(node))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// native turns a document into what encoding/json writes.
func native(node *document.Node) any {
	switch node.Kind {
	case document.Null:
		return nil
	case document.List:
		list := make([]any, 0, len(node.Items))
		for _, item := range node.Items {
			list = append(list, native(item))
		}
		return list
	case document.Map:
		fields := map[string]any{}
		for _, field := range node.Fields {
			fields[field.Key] = native(field.Value)
		}
		return fields
	default:
		if node.Type == document.String {
			return node.Value
		}
		return json.RawMessage(node.Value)
	}
}

func TestTreeOfTextThatIsNoJSON(t *testing.T) {
	spec := v1alpha1.MiddlewareSpec{Plugin: map[string]runtime.RawExtension{"a": {Raw: []byte("{")}}}
	if _, err := tree(spec); err == nil {
		t.Error("half an object is no error")
	}
}

func TestTakeRemovesWhatItReturns(t *testing.T) {
	spec := v1alpha1.MiddlewareSpec{BasicAuth: &v1alpha1.BasicAuth{Secret: "users", Realm: "here"}}
	node, err := tree(spec)
	if err != nil {
		t.Fatal(err)
	}
	if got := take(node, "basicAuth", "secret"); got == nil || got.Value != "users" {
		t.Errorf("took %v, want the name of the Secret", got)
	}
	if got := take(node, "basicAuth", "secret"); got != nil {
		t.Errorf("took it twice: %v", got)
	}
	if got := take(node, "digestAuth", "secret"); got != nil {
		t.Errorf("took %v from what is not there", got)
	}
	want := map[string]any{"basicAuth": map[string]any{"realm": "here"}}
	if diff := cmp.Diff(want, native(node)); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeSpeaksWithoutLines(t *testing.T) {
	spec := v1alpha1.MiddlewareSpec{Headers: &v1alpha1.Headers{CustomRequestHeaders: map[string]string{
		"X-A": "1",
		"x-a": "2",
	}}}
	node, err := tree(spec)
	if err != nil {
		t.Fatal(err)
	}
	_, reasons := decode[dynamic.Middleware](new(document.Decoder), node)
	want := []string{"headers.customRequestHeaders.x-a: is given twice"}
	if diff := cmp.Diff(want, reasons); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeNamesOnlySomeMistakes(t *testing.T) {
	var node document.Node
	node.Kind = document.Map
	for i := range mostFindings + 5 {
		key := strings.Repeat("unknown", i+1)
		node.Fields = append(node.Fields, document.Field{Key: key, Value: &document.Node{}})
	}
	_, reasons := decode[dynamic.Middleware](new(document.Decoder), &node)
	if len(reasons) != mostFindings+1 || reasons[mostFindings] != "has 5 more mistakes" {
		t.Errorf("reasons are %q", reasons)
	}
}
