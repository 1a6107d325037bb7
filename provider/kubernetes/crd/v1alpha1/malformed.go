package v1alpha1

import "k8s.io/apimachinery/pkg/util/json"

// fill decodes a spec as far as it fits its type, and returns what does not. An error from UnmarshalJSON would cost
// every object of a list its place, since a list is decoded whole.
func fill(data []byte, spec any) (malformed string) {
	if err := json.Unmarshal(data, spec); err != nil {
		return err.Error()
	}
	return ""
}

// UnmarshalJSON fills the spec and notes in Malformed what does not fit; it never fails.
func (s *IngressRouteSpec) UnmarshalJSON(data []byte) error {
	type plain IngressRouteSpec
	s.Malformed = fill(data, (*plain)(s))
	return nil
}

// UnmarshalJSON fills the spec and notes in Malformed what does not fit; it never fails.
func (s *IngressRouteTCPSpec) UnmarshalJSON(data []byte) error {
	type plain IngressRouteTCPSpec
	s.Malformed = fill(data, (*plain)(s))
	return nil
}

// UnmarshalJSON fills the spec and notes in Malformed what does not fit; it never fails.
func (s *IngressRouteUDPSpec) UnmarshalJSON(data []byte) error {
	type plain IngressRouteUDPSpec
	s.Malformed = fill(data, (*plain)(s))
	return nil
}

// UnmarshalJSON fills the spec and notes in Malformed what does not fit; it never fails.
func (s *MiddlewareSpec) UnmarshalJSON(data []byte) error {
	type plain MiddlewareSpec
	s.Malformed = fill(data, (*plain)(s))
	return nil
}

// UnmarshalJSON fills the spec and notes in Malformed what does not fit; it never fails.
func (s *MiddlewareTCPSpec) UnmarshalJSON(data []byte) error {
	type plain MiddlewareTCPSpec
	s.Malformed = fill(data, (*plain)(s))
	return nil
}

// UnmarshalJSON fills the spec and notes in Malformed what does not fit; it never fails.
func (s *TraefikServiceSpec) UnmarshalJSON(data []byte) error {
	type plain TraefikServiceSpec
	s.Malformed = fill(data, (*plain)(s))
	return nil
}

// UnmarshalJSON fills the spec and notes in Malformed what does not fit; it never fails.
func (s *ServersTransportSpec) UnmarshalJSON(data []byte) error {
	type plain ServersTransportSpec
	s.Malformed = fill(data, (*plain)(s))
	return nil
}

// UnmarshalJSON fills the spec and notes in Malformed what does not fit; it never fails.
func (s *ServersTransportTCPSpec) UnmarshalJSON(data []byte) error {
	type plain ServersTransportTCPSpec
	s.Malformed = fill(data, (*plain)(s))
	return nil
}

// UnmarshalJSON fills the spec and notes in Malformed what does not fit; it never fails.
func (s *TLSOptionSpec) UnmarshalJSON(data []byte) error {
	type plain TLSOptionSpec
	s.Malformed = fill(data, (*plain)(s))
	return nil
}

// UnmarshalJSON fills the spec and notes in Malformed what does not fit; it never fails.
func (s *TLSStoreSpec) UnmarshalJSON(data []byte) error {
	type plain TLSStoreSpec
	s.Malformed = fill(data, (*plain)(s))
	return nil
}
