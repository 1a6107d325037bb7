package document

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

const (
	// mostPlaces is how many places of a misplaced key are named; of more, none is likely to be meant.
	mostPlaces = 3
	// deepestPlace is how many levels below the present one are searched for a misplaced key.
	deepestPlace = 3
)

// placeOf returns where a key belongs that the struct does not have: in structs below it, or in those around it. It
// returns "" for a key that no near place has, or too many.
func (r *run) placeOf(of reflect.Type, key string) string {
	folded := strings.ToLower(key)
	if below := r.decoder.below(of, folded); len(below) > 0 {
		if len(below) > mostPlaces {
			return ""
		}
		return "in " + strings.Join(below, " or ")
	}
	for i, outer := range slices.Backward(r.around[:len(r.around)-1]) {
		if _, known := outer.layout.keys[folded]; !known {
			continue
		}
		switch levels := len(r.around) - 1 - i; {
		case outer.path != "":
			return "in " + outer.path
		case levels == 1:
			return "one level up"
		default:
			return strconv.Itoa(levels) + " levels up"
		}
	}
	return ""
}

// below returns the paths of the nearest structs below a type that have a key.
func (d *Decoder) below(of reflect.Type, folded string) []string {
	type level struct {
		path string
		of   reflect.Type
	}
	levels, seen := []level{{"", of}}, map[reflect.Type]bool{of: true}
	for range deepestPlace {
		var next []level
		var found []string
		for _, at := range levels {
			layout := d.layout(at.of)
			for _, name := range layout.names {
				inner := structBelow(at.of.FieldByIndex(layout.keys[strings.ToLower(name)].index).Type)
				if inner == nil || seen[inner] {
					continue
				}
				path := joinKey(at.path, name)
				if _, has := d.layout(inner).keys[folded]; has {
					found = append(found, path)
				}
				next = append(next, level{path, inner})
			}
		}
		if len(found) > 0 {
			return found
		}
		for _, at := range next {
			seen[at.of] = true
		}
		levels = next
	}
	return nil
}

// structBelow returns the struct that a field holds, behind a pointer or in a list; nil if it holds none.
func structBelow(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || isDuration(t) {
		return nil
	}
	return t
}
