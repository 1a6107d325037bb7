package dynamic

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/sluiceproxy/sluice/document"
)

// Kinds returns the keys of the kinds that are set, in the order in which they are declared; a sound service has one.
func (s *Service) Kinds() []string { return kinds(s) }

// Kinds returns the keys of the kinds that are set, in the order in which they are declared; a sound middleware has
// one.
func (m *Middleware) Kinds() []string { return kinds(m) }

// Kinds returns the keys of the kinds that are set, in the order in which they are declared; a sound service has one.
func (s *TCPService) Kinds() []string { return kinds(s) }

// Kinds returns the keys of the kinds that are set, in the order in which they are declared; a sound middleware has
// one.
func (m *TCPMiddleware) Kinds() []string { return kinds(m) }

// Kinds returns the keys of the kinds that are set, in the order in which they are declared; a sound service has one.
func (s *UDPService) Kinds() []string { return kinds(s) }

// kinded is an object of which exactly one kind is set.
type kinded interface{ Kinds() []string }

// kinds lists the pointers and maps of a struct that are set: each is a kind.
func kinds(of any) []string {
	value := reflect.ValueOf(of).Elem()
	var out []string
	for i := range value.NumField() {
		field := value.Field(i)
		if (field.Kind() == reflect.Pointer || field.Kind() == reflect.Map) && !field.IsNil() {
			name, _, _ := strings.Cut(value.Type().Field(i).Tag.Get("json"), ",")
			out = append(out, name)
		}
	}
	return out
}

// kindReason returns what is wrong with the number of kinds of a service or a middleware; empty if valid.
func kindReason(object any, node *document.Node) string {
	typed, ok := object.(kinded)
	if !ok {
		return ""
	}
	switch set := typed.Kinds(); len(set) {
	case 0:
		return "has no kind, and exactly one is needed" + emptyKind(node)
	case 1:
		return ""
	default:
		return fmt.Sprintf("has %d kinds, %s; exactly one is allowed", len(set), strings.Join(set, " and "))
	}
}

// emptyKind explains a key that was written without anything behind it.
func emptyKind(node *document.Node) string {
	for i := range node.Fields {
		if node.Fields[i].Value.Kind == document.Null {
			return fmt.Sprintf("; %[1]s stands without a value (%[1]s: {} takes its defaults)", node.Fields[i].Key)
		}
	}
	return ""
}
