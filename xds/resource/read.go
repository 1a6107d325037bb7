package resource

import (
	"errors"
	"fmt"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	managerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// ReadListener returns the name of the RouteConfiguration of a published listener. It fails for a listener that OfSet
// and OfService do not publish.
func ReadListener(from *listenerv3.Listener) (routes string, err error) {
	manager := &managerv3.HttpConnectionManager{}
	if err := from.GetApiListener().GetApiListener().UnmarshalTo(manager); err != nil {
		return "", errors.New("it is not an API listener with an HTTP connection manager")
	}
	routes = manager.GetRds().GetRouteConfigName()
	if routes == "" {
		return "", errors.New("it names no RouteConfiguration")
	}
	return routes, same(listener(from.GetName(), routes), from)
}

// same returns an error with the first field in which a resource differs from the one that would be published from
// what was read of it: an option that was not read must not be lost.
func same(published, got proto.Message) error {
	if proto.Equal(published, got) {
		return nil
	}
	if field := firstDifference(published.ProtoReflect(), got.ProtoReflect()); field != "" {
		return fmt.Errorf("the field %s is not supported, or not with this value", field)
	}
	return errors.New("it has unknown fields")
}

// firstDifference returns the path of a field in which two messages differ, or "".
func firstDifference(want, got protoreflect.Message) (path string) {
	visit := func(field protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		both := want.Has(field) && got.Has(field)
		if both && want.Get(field).Equal(got.Get(field)) {
			return true
		}
		path = string(field.Name())
		if both && field.Kind() == protoreflect.MessageKind && !field.IsList() && !field.IsMap() {
			if inner := firstDifference(want.Get(field).Message(), got.Get(field).Message()); inner != "" {
				path += "." + inner
			}
		}
		return false
	}
	got.Range(visit)
	if path == "" {
		want.Range(visit)
	}
	return path
}
