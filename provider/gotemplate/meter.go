package gotemplate

import (
	"context"
	"fmt"
	"net"
	"os"
	"reflect"
	"text/template"
	"time"
)

const (
	// maxWork is what one run may do, in units of about 100 ns: a step from node to node of the template, or 32 bytes
	// that a function reads.
	maxWork = 25_000_000
	// checkWork is the work of one of the functions that instrument puts into a template.
	checkWork = 8
	// maxMemory is the size in bytes of all values that the functions of one run may return.
	maxMemory = 128 << 20
	// maxCalls is how deep templates may call one another.
	maxCalls = 100
	// maxDepth is how deep a value may be nested that is printed or converted.
	maxDepth = 64
	// lookupTime is how long all calls of getHostByName together may take.
	lookupTime = 5 * time.Second
)

// meter counts the work and the memory of one run of a template.
type meter struct {
	ctx          context.Context // of the run
	limit        int64           // of work
	work, memory int64           // that is left
	calls        int
	lookups      time.Duration
	lists        map[*any][]any // that appendTo has made, by their first element, with the elements that are used
}

func (m *meter) reset(ctx context.Context) {
	*m = meter{
		ctx: ctx, limit: m.limit, work: m.limit, memory: maxMemory, lookups: lookupTime, lists: map[*any][]any{},
	}
}

// charge takes work and memory from what is left. It fails when the context of the run has ended.
func (m *meter) charge(work, memory int64) error {
	if m.ctx.Err() != nil {
		return errStopped
	}
	if work > m.work {
		m.work = 0
		return errWork
	}
	m.work -= work
	if memory > m.memory {
		return errMemory
	}
	m.memory -= memory
	return nil
}

// checks returns the functions that instrument puts into templates.
func (m *meter) checks() template.FuncMap {
	return template.FuncMap{
		stepFunction:    func(cost int) (string, error) { return "", m.charge(checkWork+int64(cost), 0) },
		enterFunction:   m.enter,
		leaveFunction:   func(int) string { m.calls--; return "" },
		iterateFunction: m.iterate,
		printFunction:   m.print,
		weighFunction:   m.weigh,
		loadFunction:    m.load,
	}
}

func (m *meter) enter(cost int) (string, error) {
	if m.calls++; m.calls > maxCalls {
		return "", errCalls
	}
	return "", m.charge(checkWork+int64(cost), 0)
}

// iterate charges for the value of a range, since the keys of a map are sorted before the loop begins.
func (m *meter) iterate(value reflect.Value) (reflect.Value, error) {
	inner, _ := content(value)
	if inner.Kind() != reflect.Map {
		return value, m.charge(checkWork, 0)
	}
	work := checkWork + int64(inner.Len())*16
	for key := range inner.Seq() {
		if work > m.work {
			return value, errWork
		}
		work += stringWork(key)
	}
	return value, m.charge(work, 0)
}

// print checks a value that is printed.
func (m *meter) print(value reflect.Value) (reflect.Value, error) {
	if inner, _ := content(value); inner.Kind() == reflect.String {
		return value, m.charge(checkWork+stringWork(inner), 0)
	}
	_, err := m.size(value)
	return value, err
}

// weigh charges for an argument that a function compares or looks up.
func (m *meter) weigh(value reflect.Value) (reflect.Value, error) {
	return value, m.charge(checkWork+stringWork(value), 0)
}

// load charges for an argument of a method (see methods), which may return text of several times that length.
func (m *meter) load(value reflect.Value) (reflect.Value, error) {
	work := stringWork(value)
	return value, m.charge(checkWork+8*work, 16*32*work)
}

// stringWork is the work of reading a string; other values have none.
func stringWork(value reflect.Value) int64 {
	if inner, _ := content(value); inner.Kind() == reflect.String {
		return int64(inner.Len() / 32)
	}
	return 0
}

// content returns what is behind interfaces and pointers, and whether there is anything.
func content(value reflect.Value) (reflect.Value, bool) {
	for range maxDepth {
		if value.Kind() != reflect.Interface && value.Kind() != reflect.Pointer {
			break
		}
		value = value.Elem()
	}
	return value, value.IsValid()
}

// size returns how many bytes a value takes with everything that it refers to, at least as many as its text has. It
// fails for values that contain themselves or exceed what is left.
func (m *meter) size(value reflect.Value) (int64, error) {
	if !value.IsValid() {
		return emptySize, m.charge(1, 0)
	}
	return m.sizeOf(value, 0)
}

// The sizes of values in bytes, with what they take as text.
const (
	emptySize  = 16
	entrySize  = 64 // of a map
	numberSize = 24
	timeSize   = 64
)

func (m *meter) sizeOf(value reflect.Value, depth int) (total int64, err error) {
	if depth > maxDepth {
		return 0, errDeep
	}
	if err := m.charge(1, 0); err != nil {
		return 0, err
	}
	switch value.Kind() {
	case reflect.String:
		total = emptySize + int64(value.Len())
	case reflect.Interface, reflect.Pointer:
		total = emptySize
		if !value.IsNil() {
			total, err = m.sizeOf(value.Elem(), depth+1)
		}
	case reflect.Slice, reflect.Array:
		total, err = m.sizeOfList(value, depth)
	case reflect.Map:
		total = emptySize
		for key, element := range value.Seq2() {
			if total, err = m.add(total, depth, key, element); err != nil {
				break
			}
		}
	case reflect.Struct:
		total = timeSize
		if value.Type() == reflect.TypeFor[time.Time]() {
			break
		}
		for i := range value.NumField() { // Fields, of package reflect, makes a description of each one.
			if total, err = m.add(total, depth, value.Field(i)); err != nil {
				break
			}
		}
	default:
		total = numberSize
	}
	if err == nil && total > m.memory {
		err = errMemory
	}
	return total, err
}

func (m *meter) sizeOfList(value reflect.Value, depth int) (int64, error) {
	total := int64(emptySize)
	switch kind := value.Type().Elem().Kind(); {
	case kind == reflect.Uint8:
		return total + 4*int64(value.Len()), m.charge(int64(value.Len()/32), 0)
	case kind >= reflect.Bool && kind <= reflect.Complex128:
		return total + numberSize*int64(value.Len()), m.charge(int64(value.Len()), 0)
	}
	for i := range value.Len() {
		var err error
		if total, err = m.add(total, depth, value.Index(i)); err != nil {
			return 0, err
		}
	}
	return total, nil
}

func (m *meter) add(total int64, depth int, values ...reflect.Value) (int64, error) {
	for _, value := range values {
		size, err := m.sizeOf(value, depth+1)
		if err != nil {
			return 0, err
		}
		if total += size; total > m.memory {
			return 0, errMemory
		}
	}
	return total, nil
}

// replacements returns the functions of text/template that make text, so that they can be wrapped, and those of sprig
// whose cost cannot be calculated from their arguments.
func (m *meter) replacements() template.FuncMap {
	return template.FuncMap{
		"print": fmt.Sprint, "printf": fmt.Sprintf, "println": fmt.Sprintln,
		"html": template.HTMLEscaper, "js": template.JSEscaper, "urlquery": template.URLQueryEscaper,
		"expandenv": m.expandEnvironment, "getHostByName": m.lookup,
		"append": m.appendTo, "mustAppend": m.appendTo, "push": m.appendTo, "mustPush": m.appendTo,
		"regexFindAll": m.regexFindAll, "mustRegexFindAll": m.regexFindAll,
		"regexSplit": m.regexSplit, "mustRegexSplit": m.regexSplit,
		"regexReplaceAll": m.regexReplaceAll, "mustRegexReplaceAll": m.regexReplaceAll,
		"regexReplaceAllLiteral": m.regexReplaceLiteral, "mustRegexReplaceAllLiteral": m.regexReplaceLiteral,
	}
}

// appendTo returns a list with one more element; the given list stays as it is. A list that was made here and has not
// been appended to is extended in place, so that a loop that appends does not copy the list each time.
func (m *meter) appendTo(list, element any) ([]any, error) {
	value := reflect.ValueOf(list)
	if value.Kind() != reflect.Slice && value.Kind() != reflect.Array {
		return nil, errNoList
	}
	old, ok := list.([]any)
	if ok && len(old) > 0 {
		if own := m.lists[&old[0]]; len(own) == len(old) && cap(own) > len(own) {
			own = append(own, element)
			m.lists[&own[0]] = own
			return own[:len(own):len(own)], nil
		}
	}
	size := 2*value.Len() + 4
	if err := m.charge(int64(size), int64(size)*emptySize); err != nil {
		return nil, err
	}
	own := make([]any, 0, size)
	for i := range value.Len() {
		own = append(own, value.Index(i).Interface())
	}
	own = append(own, element)
	m.lists[&own[0]] = own
	return own[:len(own):len(own)], nil
}

// expandEnvironment is os.ExpandEnv.
func (m *meter) expandEnvironment(text string) (string, error) {
	size := int64(len(text))
	os.Expand(text, func(name string) string {
		size += int64(len(os.Getenv(name)))
		return ""
	})
	if size > m.memory {
		return "", errMemory
	}
	return os.ExpandEnv(text), nil
}

// lookup returns an address of a host.
func (m *meter) lookup(name string) (string, error) {
	start := time.Now()
	ctx, cancel := context.WithTimeout(m.ctx, m.lookups)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupHost(ctx, name)
	m.lookups -= time.Since(start)
	if err != nil || len(addresses) == 0 {
		return "", errLookup
	}
	return addresses[0], nil
}
