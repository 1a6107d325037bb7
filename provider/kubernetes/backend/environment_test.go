package backend

import (
	"cmp"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/translation"
)

// onPort80 divides the port 80 of each Service.
type onPort80 struct{}

// Environment implements Environments.
func (onPort80) Environment(_, _ string, port int32) *dynamic.Environment {
	if port == 80 {
		return &dynamic.Environment{}
	}
	return nil
}

// TestTheTagHasNoEffectOnTheServiceItself demands a verdict exactly where the pods of a divided port are not chosen by
// Sluice.
func TestTheTagHasNoEffectOnTheServiceItself(t *testing.T) {
	ports := []corev1.ServicePort{{Name: "a", Port: 80, NodePort: 30080}, {Name: "b", Port: 81, NodePort: 30081}}
	plain := corev1.ServiceSpec{ClusterIP: "192.0.2.1", Ports: ports}
	nodePort, external := plain, plain
	nodePort.Type, external.Type = corev1.ServiceTypeNodePort, corev1.ServiceTypeExternalName
	yes, no := true, false
	const byAddress = "Service shop/web is divided into environments, and nativeLB sends requests to its address, where " +
		"any of its pods answers: the tag has no effect"
	const byNodes = "Service shop/web is divided into environments, and nodePortLB sends requests to its node ports, " +
		"where any of its pods answers: the tag has no effect"
	for _, test := range []struct {
		name      string
		spec      corev1.ServiceSpec
		reference Reference
		options   Options
		kind      dynamic.Kind
		undivided bool // There are no environments.
		want      string
		need      bool
	}{
		{name: "endpoints", spec: plain, reference: Reference{Port: intstr.FromInt32(80)}},
		{name: "native", spec: plain, reference: Reference{Port: intstr.FromString("a"), NativeLB: &yes}, want: byAddress},
		{
			name: "native by default", spec: plain, reference: Reference{Port: intstr.FromInt32(80)},
			options: Options{NativeLBByDefault: true}, want: byAddress,
		},
		{
			name: "native is switched off", spec: plain, reference: Reference{Port: intstr.FromInt32(80), NativeLB: &no},
			options: Options{NativeLBByDefault: true},
		},
		{name: "nodes", spec: nodePort, reference: Reference{Port: intstr.FromInt32(80), NodePortLB: true}, want: byNodes},
		{name: "nodes of another type", spec: plain, reference: Reference{Port: intstr.FromInt32(80), NodePortLB: true}},
		{
			name: "another port", spec: plain, reference: Reference{Port: intstr.FromInt32(81), NativeLB: &yes},
			need: true,
		},
		{name: "no such port", spec: plain, reference: Reference{Port: intstr.FromInt32(82), NativeLB: &yes}},
		{name: "external", spec: external, reference: Reference{Port: intstr.FromInt32(80), NativeLB: &yes}},
		{
			name: "no environments", spec: plain, reference: Reference{Port: intstr.FromInt32(80), NativeLB: &yes},
			undivided: true,
		},
		{
			name: "TCP", spec: plain, reference: Reference{Port: intstr.FromInt32(80)}, kind: dynamic.KindTCPService,
			want: "Service shop/web is divided into environments, and a TCP connection goes to any of its pods: the tag has " +
				"no effect",
		},
		{
			name: "TCP to another port", spec: plain, reference: Reference{Port: intstr.FromInt32(81)},
			kind: dynamic.KindTCPService, need: true,
		},
	} {
		var environments Environments = onPort80{}
		if test.undivided {
			environments = nil
		}
		test.reference.Namespace, test.reference.Name = "shop", "web"
		result, ref := &translation.Result{}, dynamic.Ref{Kind: cmp.Or(test.kind, dynamic.KindService), Name: "w"}
		CheckUndivided(result, ref, test.reference, test.options, fixed{service: web(test.spec)}, environments)
		got := ""
		for _, verdict := range result.Verdicts {
			got += verdict.Reason
			if verdict.Ref != ref || verdict.Status != dynamic.Degraded || verdict.Code != dynamic.CodeIneffectiveOption {
				t.Errorf("%s: the verdict is %+v", test.name, verdict)
			}
		}
		if got != test.want || (len(result.Needs) == 1) != (test.need || test.want != "") {
			t.Errorf("%s: %q and %v, want %q", test.name, got, result.Needs, test.want)
		}
	}
}
