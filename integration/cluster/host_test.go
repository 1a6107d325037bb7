package cluster

import (
	"context"
	"os/exec"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluiceproxy/sluice/integration/cluster/node"
)

// hosted is a pod of a host whose liveness fails once, after which it is ready for good.
const hosted = `
apiVersion: v1
kind: Pod
metadata: {name: lone}
spec:
  hostNetwork: true
  nodeSelector: {topology.kubernetes.io/zone: edge}
  terminationGracePeriodSeconds: 30
  securityContext: {runAsUser: 0}
  containers:
    - name: shell
      image: shell
      args:
        - -c
        - |
          trap 'exit 0' TERM
          if [ -e /shared/sick ]; then rm /shared/sick; touch /shared/ready; else touch /shared/sick; fi
          sleep 60 &
          wait
      securityContext: {capabilities: {drop: [ALL]}}
      readinessProbe:
        {exec: {command: [/usr/bin/test, -e, /shared/ready]}, periodSeconds: 1, timeoutSeconds: 30}
      livenessProbe:
        exec: {command: [/usr/bin/test, "!", -e, /shared/sick]}
        periodSeconds: 1
        timeoutSeconds: 30
        failureThreshold: 1
      volumeMounts: [{name: shared, mountPath: /shared}]
  volumes: [{name: shared, hostPath: {path: /var/shared, type: DirectoryOrCreate}}]
`

// TestAPodIsAProcessOfItsHost follows the probes of a pod with hostNetwork, and its end by a signal.
func TestAPodIsAProcessOfItsHost(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("missing tool: sh")
	}
	c := Start(t)
	address := c.AddHost("edge-1", "edge", map[string]node.Image{"shell": {Program: shell, Path: "/shell"}})
	t.Cleanup(func() {
		if t.Failed() {
			request := c.Kubernetes.CoreV1().Pods("default").GetLogs("lone", &corev1.PodLogOptions{})
			log, err := request.DoRaw(context.WithoutCancel(t.Context()))
			t.Logf("the log: %s %v", log, err)
		}
	})
	c.Apply(hosted)
	pod := c.Until("Pod", "lone", "ready after a restart", func(pod *unstructured.Unstructured) bool {
		return Condition(pod, "Ready") == "True" && restarts(pod) > 0
	})
	if got, _, _ := unstructured.NestedString(pod.Object, "status", "podIP"); got != address.String() {
		t.Errorf("the pod has the address %s, its host %s", got, address)
	}
	c.DeleteNow("Pod", "lone")
	c.Until("Pod", "lone", "gone", gone)
}
