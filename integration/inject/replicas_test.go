package inject

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// enforcing grants what injector.enforce needs beyond deploy/kubernetes/injector.
const enforcing = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: replicas, namespace: sluice}
rules:
  - {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create, list, patch, delete]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: replicas, namespace: sluice}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: replicas}
subjects: [{kind: ServiceAccount, name: sluice-injector, namespace: sluice}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: canary, namespace: shop}
rules:
  - {apiGroups: [""], resources: [pods], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: canary, namespace: shop}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: canary}
subjects: [{kind: ServiceAccount, name: sluice-injector, namespace: sluice}]
`

// policy returns the failurePolicy of the registration.
func (f *field) policy() admissionregistrationv1.FailurePolicyType {
	f.t.Helper()
	one, err := f.Kubernetes.AdmissionregistrationV1().MutatingWebhookConfigurations().
		Get(f.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	return *one.Webhooks[0].FailurePolicy
}

func (f *field) untilPolicy(want admissionregistrationv1.FailurePolicyType) {
	f.t.Helper()
	f.until("failurePolicy "+string(want), func() bool { return f.policy() == want })
}

// TestPolicyIsEnforced has the policy follow the replicas: Fail after a proof, still Fail while one is left, Ignore
// after the last one, and Fail again.
func TestPolicyIsEnforced(t *testing.T) {
	f := prepare(t, enforcing)
	arguments := []string{"--enforce.namespace=" + shop, "--enforce.labels.app=web"}
	f.write("policy: disabled\n")
	first := f.start(arguments...)
	first.WaitLog("not enforced", "came back without injection")
	if got := f.policy(); got != admissionregistrationv1.Ignore {
		t.Errorf("without a proof the policy is %s", got)
	}
	f.configure("first")
	f.untilPolicy(admissionregistrationv1.Fail)
	second := f.start(arguments...)
	second.WaitLog("failurePolicy Fail is enforced")
	f.service.remove(first.address)
	first.Stop()
	if got := f.policy(); got != admissionregistrationv1.Fail {
		t.Errorf("while a replica is left the policy is %s", got)
	}
	if got := injected(f.create(pod("one-left"))); got != "first" {
		t.Errorf("while a replica is left a pod has %q", got)
	}
	_, stop := f.creating(20*time.Millisecond, atATime)
	second.Stop()
	f.service.remove(second.address)
	all, wrong := stop()
	for _, fault := range wrong { // Pods without injection are the point; none may be refused.
		if len(fault) > 0 && fault[:5] != "load-" {
			t.Errorf("of %d pods one was refused while the last replica left: %s", all, fault)
		}
	}
	if got := f.policy(); got != admissionregistrationv1.Ignore {
		t.Errorf("without a replica the policy is %s", got)
	}
	if got := injected(f.create(pod("none-left"))); got != "" {
		t.Errorf("without a replica a pod has %q", got)
	}
	f.start(arguments...)
	f.untilPolicy(admissionregistrationv1.Fail)
	f.untilInjected("first")
	leases, err := f.Kubernetes.CoordinationV1().Leases(system).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(leases.Items) != 1 {
		t.Errorf("%d Leases are left of replicas, %v", len(leases.Items), err)
	}
}

// TestReplicasEnd kills one of two replicas, and restarts it: pods are injected by the other one.
func TestReplicasEnd(t *testing.T) {
	f := prepare(t)
	first, second := f.start(), f.start()
	f.untilInjected("first")
	first.kill()
	for number := range 5 {
		f.untilInjected("first") // A connection to the killed one may have to break first.
		f.create(pod(fmt.Sprint("after-", number)))
	}
	third := f.start()
	f.service.remove(second.address)
	second.Stop()
	f.untilInjected("first")
	_ = third
}

// TestBurst has 50 pods created each second, while both of two replicas are replaced one after the other: every pod is
// admitted and injected. TEST_INJECT=all creates 2,000.
func TestBurst(t *testing.T) {
	count := 400
	if os.Getenv("TEST_INJECT") == "all" {
		count = 2000
	}
	f := prepare(t)
	replicas := []*replica{f.start(), f.start()}
	f.untilInjected("first")
	began := time.Now()
	const every = 20 * time.Millisecond
	made, stop := f.creating(every, atATime)
	for _, old := range replicas {
		f.start()
		f.service.remove(old.address)
		old.Stop()
	}
	f.until("enough pods", func() bool { return made() >= count })
	all, wrong := stop()
	t.Logf("%d pods in %v", all, time.Since(began).Round(time.Millisecond))
	if len(wrong) > 0 {
		t.Errorf("of %d pods, %d were refused or not injected: %.2000s", all, len(wrong), fmt.Sprint(wrong))
	}
}

// TestReplicasLeaveTogether stops two replicas at the same moment: one of them is the last.
func TestReplicasLeaveTogether(t *testing.T) {
	f := prepare(t, enforcing)
	arguments := []string{"--enforce.namespace=" + shop, "--enforce.labels.app=web"}
	replicas := []*replica{f.start(arguments...), f.start(arguments...)}
	for _, one := range replicas {
		one.WaitLog("failurePolicy Fail is enforced")
	}
	for _, one := range replicas {
		one.Signal(syscall.SIGTERM)
	}
	for _, one := range replicas {
		one.Wait()
		f.service.remove(one.address)
	}
	if got := f.policy(); got != admissionregistrationv1.Ignore {
		t.Errorf("without a replica the policy is %s", got)
	}
	if got := injected(f.create(pod("none-left"))); got != "" {
		t.Errorf("without a replica a pod has %q", got)
	}
}
