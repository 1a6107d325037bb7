package registration

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/sluiceproxy/sluice/inject/webhook"
	"github.com/sluiceproxy/sluice/telemetry"
)

const (
	// proveInterval is the pause after a proof that has failed.
	proveInterval = 10 * time.Second
	// readyInterval is the pause while this replica is not ready.
	readyInterval = time.Second
)

// Canary is the pod with which it is proved that pods are injected. It is never created: the request is a dry run.
type Canary struct {
	// Namespace is one whose pods the webhook selects, Labels are those that its selectors and the injector demand.
	Namespace string
	Labels    map[string]string
}

// EnforcerOptions are the dependencies of an Enforcer.
type EnforcerOptions struct {
	Registration *Registration
	Replicas     *Replicas
	Pods         rest.Interface // of the core API
	Canary       Canary
	// Ready returns why reviews cannot be answered yet; nil when they can.
	Ready  func() error
	Meter  Meter
	Logger telemetry.Logger
}

// Enforcer has pods refused while no replica answers (failurePolicy: Fail), as long as there is one. Run is called
// once, and Leave after it has returned.
type Enforcer struct {
	options EnforcerOptions
	changed <-chan struct{}
	proven  atomic.Bool
	// problem is what was reported last; nil when nothing was.
	problem *string
}

// NewEnforcer returns an enforcer; it must be called before the cluster runs.
func NewEnforcer(options EnforcerOptions) *Enforcer {
	return &Enforcer{options: options, changed: options.Registration.Follow()}
}

// Proven reports whether a dry run has proved that pods are injected.
func (e *Enforcer) Proven() bool { return e.proven.Load() }

// Run registers the replica, proves that pods are injected, and keeps failurePolicy: Fail from then on, until ctx ends.
func (e *Enforcer) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-e.changed:
		}
		timer.Reset(e.step(ctx))
		pause(ctx, leastInterval)
	}
}

// step does what is due, and returns when to look again at the latest.
func (e *Enforcer) step(ctx context.Context) time.Duration {
	// The replica is registered before it may set Fail, so that another one that leaves knows of it.
	if err := e.options.Replicas.Renew(ctx); err != nil {
		e.report(err)
		return retryInterval
	}
	if !e.proven.Load() {
		if e.options.Ready() != nil {
			return readyInterval
		}
		if err := e.prove(ctx); err != nil {
			e.report(err)
			return proveInterval
		}
		e.proven.Store(true)
		e.options.Logger.Info("a dry run has proved that pods are injected", "namespace", e.options.Canary.Namespace)
	}
	err := e.set(ctx, admissionv1.Fail, false)
	e.report(err)
	if err != nil {
		return retryInterval
	}
	return renewInterval
}

// Leave removes the replica, and sets failurePolicy: Ignore if it was the last one, so that pods can be created without
// any. It returns whether it was. The replica must still answer reviews for some seconds: API servers follow with a
// delay.
func (e *Enforcer) Leave(ctx context.Context) (last bool, err error) {
	// Replicas that leave at the same time remove themselves before they count, so that one of them counts none.
	if err := e.options.Replicas.Remove(ctx); err != nil {
		return false, err
	}
	others, err := e.options.Replicas.Others(ctx)
	if err != nil || others > 0 {
		return false, err
	}
	// The cache may not have the Fail of this replica yet. One that has proved nothing has written none.
	if err := e.set(ctx, admissionv1.Ignore, e.proven.Load()); err != nil {
		return true, err
	}
	e.options.Logger.Info("the last replica leaves: pods are admitted without injection", "configuration",
		e.options.Registration.options.Name)
	return true, nil
}

// set writes failurePolicy where the cache has another one; with always also where the cache has the same.
func (e *Enforcer) set(ctx context.Context, policy admissionv1.FailurePolicyType, always bool) error {
	r := e.options.Registration
	object, webhooks, problem := r.Webhooks()
	if problem != "" {
		return errors.New(problem)
	}
	same := func(one admissionv1.MutatingWebhook) bool {
		return one.FailurePolicy != nil && *one.FailurePolicy == policy
	}
	if !always && !slices.ContainsFunc(webhooks, func(one admissionv1.MutatingWebhook) bool { return !same(one) }) {
		return nil
	}
	err := r.apply(ctx, PolicyManager, object.UID, webhooks, map[string]any{"failurePolicy": policy})
	e.options.Meter.Patched(err == nil)
	if err != nil {
		return fmt.Errorf("failurePolicy %s cannot be written: %w", policy, err)
	}
	e.options.Logger.Info("the failurePolicy of the webhook is written", "policy", string(policy), "configuration",
		r.options.Name, "webhooks", names(webhooks))
	return nil
}

// prove has a canary created as a dry run, and fails unless it comes back injected.
func (e *Enforcer) prove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*requestTimeout)
	defer cancel()
	proof := rand.Text()
	pod := &corev1.Pod{}
	err := e.options.Pods.Post().Namespace(e.options.Canary.Namespace).Resource("pods").
		VersionedParams(&metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}, metav1.ParameterCodec).
		Body(canary(e.options.Canary, proof)).MaxRetries(0).Do(ctx).Into(pod)
	if err != nil {
		return fmt.Errorf("the dry run of a pod in namespace %s: %w", e.options.Canary.Namespace, err)
	}
	if pod.Annotations[webhook.CanaryResultAnnotation] != proof {
		return fmt.Errorf("the dry run of a pod in namespace %s came back without injection", e.options.Canary.Namespace)
	}
	return nil
}

// canary returns a pod that the strictest standard of pod security admits.
func canary(options Canary, proof string) *corev1.Pod {
	no, yes := false, true
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: "sluice-injector-canary-", Namespace: options.Namespace, Labels: options.Labels,
			Annotations: map[string]string{webhook.CanaryAnnotation: proof},
		},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: &no,
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: &yes, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "canary", Image: "canary.invalid/none",
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
}

// report logs a problem when it is another one than before.
func (e *Enforcer) report(err error) {
	problem := ""
	if err != nil {
		problem = err.Error()
	}
	before := e.problem
	e.problem = &problem
	switch {
	case before != nil && *before == problem:
	case problem != "":
		e.options.Logger.Warn("failurePolicy Fail is not enforced; trying again", "proven", e.proven.Load(), "reason", problem)
	default:
		e.options.Logger.Info("failurePolicy Fail is enforced")
	}
}
