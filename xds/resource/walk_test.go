package resource_test

import (
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
)

// packedIn returns the Any messages in a message, in any depth but not in one another.
func packedIn(message proto.Message) []*anypb.Any {
	if packed, ok := message.(*anypb.Any); ok {
		return []*anypb.Any{packed}
	}
	var found []*anypb.Any
	add := func(value protoreflect.Value) { found = append(found, packedIn(value.Message().Interface())...) }
	message.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsMap():
			if field.MapValue().Message() != nil {
				value.Map().Range(func(_ protoreflect.MapKey, entry protoreflect.Value) bool {
					add(entry)
					return true
				})
			}
		case field.Message() == nil:
		case field.IsList():
			for i := range value.List().Len() {
				add(value.List().Get(i))
			}
		default:
			add(value)
		}
		return true
	})
	return found
}
