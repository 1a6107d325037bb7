package inject

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Owner is the workload that a pod belongs to.
type Owner struct{ APIVersion, Kind, Name string }

// scheduledName matches the names of Jobs that a CronJob creates: its name and the time, in minutes since 1970.
var scheduledName = regexp.MustCompile(`^(.+)-\d{8,10}$`)

// ownerOf returns the workload of a pod, by the names that controllers give to what they create: the Deployment (or
// Rollout) of a ReplicaSet, the CronJob of a Job, the DeploymentConfig of a ReplicationController, another controller
// itself. A pod without a controller is its own owner.
func ownerOf(pod *corev1.Pod) Owner {
	self := Owner{APIVersion: "v1", Kind: "Pod", Name: pod.Name}
	if pod.GenerateName == "" {
		return self
	}
	if self.Name == "" {
		self.Name = strings.TrimSuffix(pod.GenerateName, "-")
	}
	controller := metav1.GetControllerOfNoCopy(pod)
	if controller == nil {
		return self
	}
	owner := Owner{APIVersion: controller.APIVersion, Kind: controller.Kind, Name: controller.Name}
	switch owner.Kind {
	case "ReplicaSet":
		if name, ok := withoutHash(owner.Name, pod.Labels["rollouts-pod-template-hash"]); ok {
			return Owner{APIVersion: "argoproj.io/v1alpha1", Kind: "Rollout", Name: name}
		}
		if name, ok := withoutHash(owner.Name, pod.Labels["pod-template-hash"]); ok {
			return Owner{APIVersion: "apps/v1", Kind: "Deployment", Name: name}
		}
	case "Job":
		if match := scheduledName.FindStringSubmatch(owner.Name); match != nil {
			return Owner{APIVersion: owner.APIVersion, Kind: "CronJob", Name: match[1]}
		}
	case "ReplicationController":
		if name := pod.Labels["deploymentconfig"]; name != "" && strings.HasPrefix(owner.Name, name+"-") {
			return Owner{APIVersion: "apps.openshift.io/v1", Kind: "DeploymentConfig", Name: name}
		}
	}
	return owner
}

// withoutHash removes the suffix that a controller adds to the name of a ReplicaSet.
func withoutHash(name, hash string) (string, bool) {
	if hash == "" {
		return "", false
	}
	return strings.CutSuffix(name, "-"+hash)
}
