package backend

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// held is a cluster of one Secret.
type held struct{ secret *corev1.Secret }

func (h held) Secret(string, string) *corev1.Secret { return h.secret }

// TestPairsReadEachSecretOnce proves that a Secret is read once until it changes or is dropped.
func TestPairsReadEachSecretOnce(t *testing.T) {
	first := &corev1.Secret{Data: map[string][]byte{}}
	var pairs Pairs
	reason := func(secret *corev1.Secret) string {
		_, problem := pairs.Certificate("shop", "cert", held{secret})
		if problem == nil {
			return ""
		}
		return problem.Reason
	}
	const empty, half = "Secret shop/cert holds neither tls.crt nor tls.key", "Secret shop/cert holds no tls.key"
	steps := []struct {
		what   string
		secret *corev1.Secret
		want   string
	}{
		{"at first", first, empty},
		{"once more, though its content is another one", first, empty},
		{"another object", &corev1.Secret{Data: map[string][]byte{corev1.TLSCertKey: {1}}}, half},
		{"none", nil, "Secret shop/cert does not exist"},
	}
	for _, step := range steps {
		if got := reason(step.secret); got != step.want {
			t.Errorf("%s: the reason is %q, want %q", step.what, got, step.want)
		}
		first.Data[corev1.TLSCertKey] = []byte{1}
	}
	if reason(first); len(pairs.read) != 1 {
		t.Errorf("%d Secrets are held, want 1", len(pairs.read))
	}
	if pairs.Forget(); len(pairs.read) != 0 || reason(first) != half {
		t.Error("what was dropped is not read again")
	}
}

func TestExcess(t *testing.T) {
	for _, test := range []struct {
		routes, names int
		excess        bool
	}{
		{1_000_000, 0, false},
		{0, 1_000_000, false},
		{1, mostRepeated, false},
		{1, mostRepeated + 1, true},
		{1000, 100, false},
		{1001, 100, true},
		{1 << 40, 1 << 40, true},
	} {
		if problem := Excess(test.routes, test.names); (problem != nil) != test.excess {
			t.Errorf("%d routes with %d names: %v", test.routes, test.names, problem)
		}
	}
}
