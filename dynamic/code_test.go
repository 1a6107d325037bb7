package dynamic_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluiceproxy/sluice/document"
	"github.com/sluiceproxy/sluice/dynamic"
)

func TestReasonCode(t *testing.T) {
	for _, test := range []struct {
		name    string
		verdict dynamic.Verdict
		want    dynamic.Code
	}{
		{"accepted", dynamic.Verdict{}, dynamic.CodeAccepted},
		{
			"accepted again, with the code of its last fault",
			dynamic.Verdict{Code: dynamic.CodeInvalidRule},
			dynamic.CodeAccepted,
		},
		{"with a code", dynamic.Verdict{Status: dynamic.Quarantined, Code: dynamic.CodeInvalidRule}, dynamic.CodeInvalidRule},
		{"missing", dynamic.Verdict{Status: dynamic.Degraded, Missing: true}, dynamic.CodeMissingReference},
		{"degraded", dynamic.Verdict{Status: dynamic.Degraded}, dynamic.CodeDegraded},
		{"quarantined", dynamic.Verdict{Status: dynamic.Quarantined}, dynamic.CodeQuarantined},
	} {
		if got := test.verdict.ReasonCode(); got != test.want {
			t.Errorf("%s: %s, expected %s", test.name, got, test.want)
		}
	}
}

func TestMissingCode(t *testing.T) {
	for kind, want := range map[dynamic.Kind]dynamic.Code{
		dynamic.KindService:          dynamic.CodeMissingService,
		dynamic.KindMiddleware:       dynamic.CodeMissingMiddleware,
		dynamic.KindServersTransport: dynamic.CodeMissingServersTransport,
		dynamic.KindTLSOptions:       dynamic.CodeMissingTLSOptions,
		dynamic.KindRouter:           dynamic.CodeMissingReference,
	} {
		if got := dynamic.MissingCode(kind); got != want {
			t.Errorf("%s: %s, expected %s", kind, got, want)
		}
	}
}

func TestVerdictsOfFilesHaveCodes(t *testing.T) {
	root, err := document.ParseWithDuplicates("f.yaml", []byte(`
http:
  routers:
    wrong: {rool: x}
    a@b: {rule: x}
  nothing: {}
tcp:
  routers:
    plain: {roule: x}
`))
	if err != nil {
		t.Fatal(err)
	}
	var decoder dynamic.Decoder
	got := map[string]dynamic.Code{}
	for _, verdict := range decoder.Decode("f.yaml", root, false).Verdicts {
		got[verdict.Ref.Name] = verdict.Code
	}
	want := map[string]dynamic.Code{
		"wrong": dynamic.CodeInvalidOption, "a@b": dynamic.CodeInvalidName, "f.yaml": dynamic.CodeInvalidSource,
		"plain": dynamic.CodeInvalidOption,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("codes (-want +got):\n%s", diff)
	}
}
