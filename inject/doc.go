// Package inject changes pods before they are created: it adds containers, variables and everything else that templates
// describe, as a mutating admission webhook does, but without one.
//
// Input is a [Configuration], which [Parse] and [Load] compile from the configuration of Istio's sidecar injector (with
// extensions), and an [Input] with the JSON of a pod. Result is a [Result]: a JSON patch (RFC 6902), or the reason why
// there is none. [Configuration.Inject] is a pure function: it has no client, no clock and no state, reads no
// environment, and is safe for concurrent use.
//
// A pod passes these steps, one file each:
//
//   - decide.go: labels, annotations, selectors and the policy decide whether it is injected.
//   - status.go: what an earlier injection added is removed, so that injecting twice is injecting once.
//   - render.go: each template is run on the pod (package provider/gotemplate bounds it) and renders a part of a pod.
//   - merge.go: the parts are merged into the pod as kubectl does (strategic merge).
//   - containers.go: containers that the pod declares itself win over those of the templates; all get their order.
//   - Package jsonpatch makes a patch of the difference to the received bytes.
//
// The templates that come with the package are in the folder templates. Subpackage manifest does the same for workloads
// in files.
package inject
