package file

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// object is a JSON object of which the order and unknown members are kept.
type object []member

type member struct {
	name  string
	value json.RawMessage
}

// parseObject reads an object. That of null is empty.
func parseObject(text []byte) (object, error) {
	if isNull(text) {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	if token != json.Delim('{') {
		return nil, errors.New("is not an object")
	}
	var o object
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, err
		}
		o = append(o, member{name: name.(string), value: value}) //nolint:forcetypeassert // The decoder accepts no other name.
	}
	_, err = decoder.Token()
	return o, err
}

func isNull(text []byte) bool {
	return len(text) == 0 || bytes.Equal(bytes.TrimSpace(text), []byte("null"))
}

// index returns the place of the last member with a name, in any case, or -1.
func (o object) index(name string) int {
	for i, m := range slices.Backward(o) {
		if strings.EqualFold(m.name, name) {
			return i
		}
	}
	return -1
}

// get returns the value of a member, in any case, and nil without one.
func (o object) get(name string) json.RawMessage {
	if i := o.index(name); i >= 0 {
		return o[i].value
	}
	return nil
}

// decode reads a member into target, which is unchanged without one. The error names the member.
func (o object) decode(name string, target any) error {
	value := o.get(name)
	if isNull(value) {
		return nil
	}
	if err := json.Unmarshal(value, target); err != nil {
		return errors.New(name + " is not what it should be")
	}
	return nil
}

// object reads a member that is an object.
func (o object) object(name string) (object, error) {
	inner, err := parseObject(o.get(name))
	if err != nil {
		return nil, errors.New(name + ": " + err.Error())
	}
	return inner, nil
}

// set replaces a member, or appends one.
func (o *object) set(name string, value any) error {
	text, ok := value.(json.RawMessage)
	if inner, is := value.(object); is {
		text, ok = inner.text(), true
	}
	if !ok {
		var err error
		if text, err = json.Marshal(value); err != nil {
			return err
		}
	}
	if i := o.index(name); i >= 0 {
		(*o)[i].value = text
		return nil
	}
	*o = append(*o, member{name: name, value: text})
	return nil
}

// remove deletes a member.
func (o *object) remove(name string) {
	*o = slices.DeleteFunc(*o, func(m member) bool { return strings.EqualFold(m.name, name) })
}

// text returns the object as JSON.
func (o object) text() json.RawMessage {
	var text bytes.Buffer
	text.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			text.WriteByte(',')
		}
		name, _ := json.Marshal(m.name) // A string has no error.
		text.Write(name)
		text.WriteByte(':')
		text.Write(m.value)
	}
	text.WriteByte('}')
	return text.Bytes()
}

// list returns values as a JSON array.
func list(values []json.RawMessage) json.RawMessage {
	text := []byte{'['}
	for i, value := range values {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, value...)
	}
	return append(text, ']')
}
