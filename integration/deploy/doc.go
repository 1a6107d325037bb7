// Package deploy tests what operators apply to a cluster: deploy/kubernetes, the chart in deploy/helm and their CRDs.
// Both ways must give the same objects, Sluice must accept the configuration in them, and they must not request a
// permission that Sluice does not use. Errors name the object and the field. No cluster is needed.
package deploy
