package client

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/consts"
)

// LabelledPods returns the resource of the pods that have a label. The API server sends their metadata alone, of which
// identity and that label are kept.
func LabelledPods(label string) Resource[*metav1.PartialObjectMetadata] {
	return Resource[*metav1.PartialObjectMetadata]{
		GroupVersion: corev1.SchemeGroupVersion, Name: "pods", Kind: "Pod", Namespaced: true, Metadata: true,
		NewList:       func() runtime.Object { return &metav1.PartialObjectMetadataList{} },
		LabelSelector: label,
		Strip: func(pod *metav1.PartialObjectMetadata) {
			value := pod.Labels[label]
			stripMeta(&pod.ObjectMeta)
			pod.Labels = map[string]string{label: value}
		},
	}
}

// GatewayDefinition is the name of the CRD of GatewayClasses.
const GatewayDefinition = "gatewayclasses." + gatewayv1.GroupName

const kindDefinition = "CustomResourceDefinition"

func definitionVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: "apiextensions.k8s.io", Version: "v1"}
}

// GatewayDefinitions returns the resource of GatewayDefinition. The API server sends its metadata alone, of which
// identity and the annotation with the version of the Gateway API are kept.
func GatewayDefinitions() Resource[*metav1.PartialObjectMetadata] {
	return Resource[*metav1.PartialObjectMetadata]{
		GroupVersion: definitionVersion(), Name: "customresourcedefinitions", Kind: kindDefinition, Metadata: true,
		NewList:       func() runtime.Object { return &metav1.PartialObjectMetadataList{} },
		FieldSelector: "metadata.name=" + GatewayDefinition,
		Strip: func(definition *metav1.PartialObjectMetadata) {
			version, found := definition.Annotations[consts.BundleVersionAnnotation]
			stripMeta(&definition.ObjectMeta)
			if found {
				definition.Annotations = map[string]string{consts.BundleVersionAnnotation: version}
			}
		},
	}
}

// metadataAccept are the values of the header Accept with which the API server sends metadata instead of whole objects.
func metadataAccept(kind string) string {
	const parameters = ";g=meta.k8s.io;v=v1"
	return runtime.ContentTypeProtobuf + ";as=" + kind + parameters + "," +
		runtime.ContentTypeJSON + ";as=" + kind + parameters + "," + runtime.ContentTypeJSON
}

// metadataREST returns the client of one group and version whose answers are metadata. It makes no request.
func (c *Cluster) metadataREST(version schema.GroupVersion) (rest.Interface, error) {
	types := runtime.NewScheme()
	metav1.AddToGroupVersion(types, schema.GroupVersion{Version: "v1"})
	if err := metav1.AddMetaToScheme(types); err != nil {
		return nil, err
	}
	// A server that does not know the media type sends whole objects.
	kind, path := "Pod", "/api"
	if version == definitionVersion() {
		kind, path = kindDefinition, "/apis"
	}
	types.AddKnownTypeWithName(version.WithKind(kind), &metav1.PartialObjectMetadata{})
	types.AddKnownTypeWithName(version.WithKind(kind+"List"), &metav1.PartialObjectMetadataList{})
	config := rest.CopyConfig(c.config)
	config.GroupVersion, config.APIPath = &version, path
	config.NegotiatedSerializer = serializer.NewCodecFactory(types).WithoutConversion()
	config.AcceptContentTypes = metadataAccept("PartialObjectMetadata")
	return rest.RESTClientForConfigAndClient(config, c.http)
}

// listMetadata is the request for a list of metadata.
func listMetadata(request *rest.Request) *rest.Request {
	return request.SetHeader("Accept", metadataAccept("PartialObjectMetadataList"))
}

// restFor returns the client for a target.
func (c *Cluster) restFor(of target) (rest.Interface, error) {
	if of.metadata {
		return c.metadataREST(of.version)
	}
	return c.REST(of.version)
}
