package gateway_test

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/consts"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client"
	"github.com/sluiceproxy/sluice/provider/kubernetes/client/clienttest"
	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway"
	"github.com/sluiceproxy/sluice/provider/kubernetes/gateway/status"
	"github.com/sluiceproxy/sluice/static"
	"github.com/sluiceproxy/sluice/telemetry"
)

// TestTheVersionIsThatOfTheCluster proves that the version of the Gateway API is read from the CRD of GatewayClasses.
func TestTheVersionIsThatOfTheCluster(t *testing.T) {
	t.Parallel()
	server := clienttest.New(t)
	secureShop(server)
	definitions := schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	}
	server.Serve(definitions, "CustomResourceDefinition")
	server.Put(definitions, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		Name: client.GatewayDefinition, Annotations: map[string]string{consts.BundleVersionAnnotation: "v1.6.3"},
	}})
	cluster, err := client.Connect(client.Options{Endpoint: server.URL()}, "kubernetes", telemetry.Discard{},
		client.AddGatewayToScheme)
	if err != nil {
		t.Fatal(err)
	}
	p, err := gateway.New(cluster, static.KubernetesGateway{ControllerName: static.DefaultGatewayController},
		&gateway.Documents{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	messages := make(chan dynamic.Message)
	run(t, cluster.Run)
	run(t, func(ctx context.Context) error { return p.Provide(ctx, messages) })
	await(t, messages, func(dynamic.Message) {}, func(m dynamic.Message) bool { return m.State == dynamic.StateSynced })
	changed, _ := p.Statuses().Take()
	for _, one := range changed {
		if one.Kind != status.GatewayClass {
			continue
		}
		found := meta.FindStatusCondition(one.Class.Conditions, string(gatewayv1.GatewayClassConditionStatusSupportedVersion))
		if found == nil || found.Status != metav1.ConditionTrue {
			t.Errorf("the condition is %+v, want True", found)
		}
		return
	}
	t.Error("the class has no status")
}
