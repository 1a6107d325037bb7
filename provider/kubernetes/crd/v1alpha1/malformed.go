package v1alpha1

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
)

// fill decodes a spec as far as it fits its type, and returns what does not: the first mistake. An error from
// UnmarshalJSON would cost every object of a list its place, since a list is decoded whole.
func fill(data []byte, spec any) (malformed string) {
	err := json.Unmarshal(data, spec)
	if err == nil {
		return ""
	}
	if rest, found := withoutStrays(data, reflect.TypeOf(spec)); found {
		reflect.ValueOf(spec).Elem().SetZero()
		_ = json.Unmarshal(rest, spec) // What else does not fit is skipped; the first mistake is reported.
	}
	mistake, ok := errors.AsType[*stdjson.UnmarshalTypeError](err)
	switch {
	case !ok:
		return err.Error()
	case mistake.Field == "":
		return fmt.Sprintf("expected %s, got %s", kind(mistake.Type), mistake.Value)
	default:
		return fmt.Sprintf("%s: expected %s, got %s", option(mistake.Field), kind(mistake.Type), mistake.Value)
	}
}

// option returns the path of an option without the names of embedded types, which manifests do not have.
func option(field string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(field, "."), func(part string) bool {
		return part != "" && part[0] >= 'A' && part[0] <= 'Z'
	}), ".")
}

// kind says what JSON holds a value of a type.
func kind(of reflect.Type) string {
	switch of.Kind() {
	case reflect.Pointer:
		return kind(of.Elem())
	case reflect.Bool:
		return "a boolean"
	case reflect.String:
		return "a string"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	default:
		return "a map"
	}
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

// UnmarshalJSON fills the status as far as it fits; it never fails. A status is always written whole.
func (s *Status) UnmarshalJSON(data []byte) error {
	type plain Status
	if fill(data, (*plain)(s)) != "" {
		*s = Status{}
	}
	return nil
}
