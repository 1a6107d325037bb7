// Package node replaces the kubelets and the scheduler of a cluster, its only simulated part.
//
// Nodes watches the pods of an API server, makes Node objects, bindings and pod statuses, and starts for each pod a
// backend that listens on an address of its own and answers with the pod's name, calls of gRPC's test service as well.
// If package image knows the images of all containers, their programs run instead, with the environment and volumes of
// Secrets and ConfigMaps, as soon as these exist, on ports of their own. Their logs can be read through the API server.
// Otherwise images and commands are not used. Resources are never: a pod is bound to the node with the fewest pods
// among those that its selectors allow. A pod is deleted as by the kubelet: after its preStop sleep it gets the stop
// signal, is killed after its grace period, and then its object is deleted. AddHost makes nodes whose pods with
// hostNetwork are programs in a network namespace, with probes. Annotations define how a pod behaves; the
// default is polite, ready at once, in the test's process. Programs of known images run inside, and are polite or exit:
//
//	test.sluice.dev/run: inside | process    thousands of pods fit inside the test's process; a process can be killed
//	test.sluice.dev/ready-after: 200ms       how long until it is ready (also: readinessProbe.initialDelaySeconds)
//	test.sluice.dev/ready: "false"           not ready; may change while it runs
//	test.sluice.dev/drain: 300ms             how long it serves after deletion (also: lifecycle.preStop.sleep)
//	test.sluice.dev/on-stop: polite          completes its requests, and ends
//	                         exit            ends at once, without the drain time
//	                         close           while draining closes connections after a response, then as polite
//	                         hang            accepts connections without answering, until it is killed
//	test.sluice.dev/restart-after: 1s        how long a killed pod is down
package node
