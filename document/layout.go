package document

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
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
	rules rules
}

// rules are what the tags of a field say about its value.
type rules struct {
	// onOff says that a bool may stand for a struct.
	onOff bool
	enum  []string
	// ranged says that min and max are limits.
	ranged   bool
	min, max int64
}

// rulesOf reads the tags of a field.
func rulesOf(tag reflect.StructTag) rules {
	out := rules{onOff: tag.Get("label") == allowEmpty || tag.Get("file") == allowEmpty}
	if enum := tag.Get("enum"); enum != "" {
		out.enum = strings.Split(enum, ",")
	}
	var low, high string
	if low, high, out.ranged = strings.Cut(tag.Get("range"), ".."); out.ranged {
		out.min, _ = strconv.ParseInt(low, 10, 64)
		out.max = math.MaxInt64
		if limit, err := strconv.ParseInt(high, 10, 64); err == nil {
			out.max = limit
		}
	}
	return out
}

// integers describes the integers that the rules allow.
func (r *rules) integers() string {
	switch {
	case !r.ranged:
		return "an integer"
	case r.max == math.MaxInt64:
		return fmt.Sprintf("an integer of at least %d", r.min)
	}
	return fmt.Sprintf("an integer from %d to %d", r.min, r.max)
}

// allows reports whether a number is within the range.
func (r *rules) allows(number int64) bool { return !r.ranged || r.min <= number && number <= r.max }

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
		l.keys[strings.ToLower(name)] = layoutField{name: name, index: index, rules: rulesOf(field.Tag)}
		l.names = append(l.names, name)
	}
}

// allowEmpty is the value of a tag that lets a key without a value, or with a bool, stand for a struct.
const allowEmpty = "allowEmpty"

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
