// Package deploy tests what an operator applies to a cluster: deploy/kubernetes, the chart in deploy/helm and their
// CRDs.
//
// In flow the files as they are, and the chart as the helm binary renders it; out flow failures that name the object
// and the field. Both ways must give the same objects, Sluice must accept the configuration in them, and nothing in
// them may ask for a right that Sluice does not use.
//
// It never talks to a cluster of anybody.
package deploy
