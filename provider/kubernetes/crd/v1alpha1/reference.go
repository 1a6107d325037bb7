package v1alpha1

// ObjectRef names another object: a middleware, a parent route, TLS options or a TLS store.
type ObjectRef struct {
	// Name is the name of the object. With an @, it is name@provider and may be of any provider.
	Name string `json:"name"`
	// Namespace is the namespace of the object, by default that of the object that refers to it.
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// Domain is a main name with further names for one certificate.
type Domain struct {
	// Main is the common name.
	// +optional
	Main string `json:"main,omitempty"`
	// SANs are the further names.
	// +optional
	SANs []string `json:"sans,omitempty"`
}
