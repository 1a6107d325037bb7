package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
)

// nodeVariable is the variable of the environment that names the node, which the manifests set from spec.nodeName.
const nodeVariable = "NODE_NAME"

const (
	// answerTime is how long the API server may take to answer about a node.
	answerTime = 10 * time.Second
	// shortPause is the first pause before the next request. Each further one is twice as long, up to longPause.
	shortPause, longPause = time.Second, 30 * time.Second
)

// Zone returns the zone of the node that Sluice runs on: the label topology.kubernetes.io/zone of the Node that the
// variable NODE_NAME names, which is the only one that is read. It is empty, without an error, where it cannot be
// read: no cluster, no such variable, or a cluster whose nodes are not to be read (disableClusterScopeResources).
//
// A request without an answer is repeated until ctx ends. A Node that does not exist, may not be read or has no
// such label is an error at once.
func (c *Clusters) Zone(ctx context.Context) (string, error) {
	name := os.Getenv(nodeVariable)
	where := c.home()
	if name == "" || where == nil {
		return "", nil
	}
	pause := shortPause
	again := time.NewTimer(pause)
	defer again.Stop()
	for {
		zone, err := where.zone(ctx, name)
		if err == nil || errors.Is(err, errNode) {
			return zone, err
		}
		again.Reset(pause)
		pause = min(2*pause, longPause)
		select {
		case <-ctx.Done():
			return "", err
		case <-again.C:
		}
	}
}

// home returns the cluster that Sluice runs in, as far as that is known: the first one that was found without an
// address, or else the first one. It is nil where nodes are not to be read.
func (c *Clusters) home() *cluster {
	if c.options.CRD != nil && c.options.CRD.DisableClusterScopeResources ||
		c.options.Ingress != nil && c.options.Ingress.DisableClusterScopeResources {
		return nil
	}
	if near := slices.IndexFunc(c.order, func(one *cluster) bool { return !one.named }); near >= 0 {
		return c.order[near]
	}
	if len(c.order) > 0 {
		return c.order[0]
	}
	return nil
}

// errNode is wrapped by errors that asking again does not mend.
var errNode = errors.New("the zone of this node is not known")

// zone reads the zone of a node. It lists that node alone, since the permission to list nodes is there already.
func (c *cluster) zone(ctx context.Context, name string) (string, error) {
	rest, err := c.REST(corev1.SchemeGroupVersion)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errNode, err)
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	nodes := &corev1.NodeList{}
	selector := fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
	err = rest.Get().Resource("nodes").
		VersionedParams(&metav1.ListOptions{FieldSelector: selector}, metav1.ParameterCodec).Do(ctx).Into(nodes)
	switch {
	case apierrors.IsForbidden(err):
		return "", fmt.Errorf("%w: %w", errNode, err)
	case err != nil:
		return "", fmt.Errorf("zone of Node %s: %w", name, err)
	case len(nodes.Items) == 0:
		return "", fmt.Errorf("%w: Node %s, which %s names, does not exist", errNode, name, nodeVariable)
	}
	zone := nodes.Items[0].Labels[corev1.LabelTopologyZone]
	if zone == "" {
		return "", fmt.Errorf("%w: Node %s has no label %s", errNode, name, corev1.LabelTopologyZone)
	}
	return zone, nil
}
