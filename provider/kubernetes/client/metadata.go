package client

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
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
	types.AddKnownTypeWithName(version.WithKind("Pod"), &metav1.PartialObjectMetadata{})
	types.AddKnownTypeWithName(version.WithKind("PodList"), &metav1.PartialObjectMetadataList{})
	config := rest.CopyConfig(c.config)
	config.GroupVersion, config.APIPath = &version, "/api"
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
