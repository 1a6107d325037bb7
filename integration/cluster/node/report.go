package node

import (
	"context"
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// pause is the time between two attempts of a call.
const pause = 50 * time.Millisecond

// status is the reported status of a pod.
type status struct {
	running, ready bool
	restarts       int32
}

// bind binds the pod to its node. It returns false if the pod is gone or bound already.
func (p *pod) bind() bool {
	binding := &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: p.name, UID: p.uid},
		Target:     corev1.ObjectReference{Kind: "Node", Name: p.machine.object.Name},
	}
	return p.persist(func(client kubernetes.Interface) error {
		return client.CoreV1().Pods(p.namespace).Bind(p.ctx, binding, metav1.CreateOptions{})
	})
}

// report updates the pod's status.
func (p *pod) report(now status) {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": p.uid},
		"status":   p.status(now),
	})
	if err != nil {
		p.nodes.options.Complain("pod %s/%s: %v", p.namespace, p.name, err)
		return
	}
	p.persist(func(client kubernetes.Interface) error {
		_, err := client.CoreV1().Pods(p.namespace).Patch(p.ctx, p.name, types.StrategicMergePatchType, patch,
			metav1.PatchOptions{}, "status")
		return err
	})
}

// status converts a status to the API's type.
func (p *pod) status(now status) corev1.PodStatus {
	began := metav1.NewTime(p.started)
	answer := corev1.PodStatus{
		Phase: corev1.PodRunning, StartTime: &began,
		HostIP: p.machine.object.Status.Addresses[0].Address, PodIP: p.taken[0].String(),
	}
	for _, address := range p.taken {
		answer.PodIPs = append(answer.PodIPs, corev1.PodIP{IP: address.String()})
	}
	for kind, holds := range map[corev1.PodConditionType]bool{
		corev1.PodInitialized: true, corev1.PodReady: now.ready, corev1.ContainersReady: now.ready,
	} {
		condition := corev1.PodCondition{Type: kind, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now()}
		if holds {
			condition.Status = corev1.ConditionTrue
		}
		answer.Conditions = append(answer.Conditions, condition)
	}
	for _, container := range p.object.Spec.Containers {
		one := corev1.ContainerStatus{
			Name: container.Name, Image: container.Image, ImageID: container.Image, ContainerID: "stand-in://" + string(p.uid),
			Ready: now.ready, Started: &now.running, RestartCount: now.restarts,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: began}},
		}
		if !now.running {
			one.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: 137, Reason: "Error",
				FinishedAt: metav1.Now(),
			}}
		}
		answer.ContainerStatuses = append(answer.ContainerStatuses, one)
	}
	return answer
}

// remove deletes the object of a pod that has ended.
func (p *pod) remove() {
	now := int64(0)
	p.persist(func(client kubernetes.Interface) error {
		return client.CoreV1().Pods(p.namespace).Delete(p.ctx, p.name, metav1.DeleteOptions{
			GracePeriodSeconds: &now, Preconditions: &metav1.Preconditions{UID: &p.uid},
		})
	})
}

// persist repeats a call of the API until it succeeds. It returns false if the pod is gone or the call is refused.
func (p *pod) persist(call func(kubernetes.Interface) error) bool {
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		err := p.nodes.limit(p.ctx, func() error { return call(p.nodes.options.Client) })
		switch {
		case err == nil:
			return true
		case p.ctx.Err() != nil, apierrors.IsNotFound(err), apierrors.IsConflict(err):
			return false
		case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err):
			p.nodes.options.Complain("pod %s/%s: %v", p.namespace, p.name, err)
			return false
		}
		select {
		case <-ticker.C:
		case <-p.ctx.Done():
			return false
		}
	}
}

// limit makes a call within the limit of concurrent calls.
func (n *Nodes) limit(ctx context.Context, call func() error) error {
	select {
	case n.calls <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-n.calls }()
	return call()
}
