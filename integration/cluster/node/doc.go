// Package node stands in for the kubelets and the scheduler of a cluster: the one part of it that is not real.
//
// In flow the pods of an API server; out flow Node objects, bindings, pod statuses, and for each pod a backend that
// listens on an address of its own and answers with the pod's name. A pod that is deleted ends as the kubelet would end
// it: it stays for its preStop sleep, is then told to stop, is killed when its grace period is over, and its object
// goes last. Annotations say how a pod behaves; without any it is polite, ready at once and lives in the test's
// process:
//
//	test.sluice.dev/run: inside | process    a process of its own can be killed for real; thousands of pods fit inside
//	test.sluice.dev/ready-after: 200ms       how long it runs before it is ready (also: readinessProbe.initialDelaySeconds)
//	test.sluice.dev/ready: "false"           not ready; may change while it runs
//	test.sluice.dev/drain: 300ms             how long it stays as it was once deleted (also: lifecycle.preStop.sleep)
//	test.sluice.dev/on-stop: polite          answers what has begun, and ends
//	                         exit            ends at once, in the middle of whatever it does, without the drain time
//	                         close           for the drain time closes each connection after its answer, and ends politely
//	                         hang            accepts and never answers from the deletion on, until it is killed
//	test.sluice.dev/restart-after: 1s        how long a pod that was killed is down
//
// It never pulls an image or runs a container's command, and never decides by resources: a pod goes to the node with
// the fewest pods among those that its selectors allow.
package node
