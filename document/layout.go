package document

import (
	"reflect"
	"strings"
)

// layout is the keys of a struct type.
type layout struct {
	keys  map[string]layoutField // by key in lower case
	names []string
}

type layoutField struct {
	name  string
	index []int
	onOff bool
}

func (d *Decoder) layout(t reflect.Type) *layout {
	if known, ok := d.layouts[t]; ok {
		return known
	}
	out := &layout{keys: map[string]layoutField{}}
	out.add(t, nil)
	if d.layouts == nil {
		d.layouts = map[reflect.Type]*layout{}
	}
	d.layouts[t] = out
	return out
}

func (l *layout) add(t reflect.Type, prefix []int) {
	for i := range t.NumField() {
		field := t.Field(i)
		tag := field.Tag.Get("json")
		name, _, _ := strings.Cut(tag, ",")
		index := append(append([]int(nil), prefix...), i)
		if field.Anonymous && name == "" && field.Type.Kind() == reflect.Struct {
			l.add(field.Type, index)
			continue
		}
		if !field.IsExported() || tag == "-" {
			continue
		}
		if name == "" {
			name = field.Name
		}
		l.keys[strings.ToLower(name)] = layoutField{
			name: name, index: index,
			onOff: allowsEmpty(field.Tag.Get("label")) || allowsEmpty(field.Tag.Get("file")),
		}
		l.names = append(l.names, name)
	}
}

func allowsEmpty(tag string) bool { return tag == "allowEmpty" }

// Keys returns the keys of a struct or a pointer to one, in the order of its fields.
func Keys(of any) []string {
	t := reflect.TypeOf(of)
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	return new(Decoder).layout(t).names
}
