package gotemplate

import (
	"math"
	"reflect"
	"strings"
)

const (
	// callWork is the work of calling a function.
	callWork = 16
	// growth is how many times larger than its arguments the result of a function may be that has no rule of its own:
	// text with escapes, or as JSON with indentation.
	growth = 16
	// longestKeys is how large the arguments of cryptographic functions may be, in bytes.
	longestKeys = 16 << 10
	// longestVersion is how large the arguments of functions for versions may be, in bytes.
	longestVersion = 512
	// impossible is a cost that exceeds every limit.
	impossible = math.MaxInt64 / 4
)

// cost is what a call may need, at most.
type cost struct{ work, memory int64 }

// call is one call of a wrapped function.
type call struct {
	meter *meter
	name  string
	args  []reflect.Value // without interfaces
}

// flat lists the functions that look at their arguments without going through them; strings are read.
const flat = ` add add1 all any base ceil clean contains dir div empty ext fail float64 floor hasKey hasPrefix hasSuffix
	hello int int64 isAbs kindIs kindOf list max maxf min minf mod mul now osBase osClean osDir osExt osIsAbs plural
	randInt
	round sub tuple typeIs typeIsLike typeOf biggest `

// selecting lists the functions that return one of their arguments or a part of it, which takes no memory.
const selecting = ` coalesce default dig first get last mustFirst mustLast mustSlice set slice substr ternary trim
	trimAll
	trimall trimPrefix trimSuffix trunc unset `

// reading lists those of selecting that read strings.
const reading = ` dig get set substr trim trimAll trimall trimPrefix trimSuffix trunc unset `

// appending lists the functions that are replaced by meter.appendTo, which charges for the memory itself.
const appending = ` append mustAppend mustPush push `

// merging lists the functions that copy the entries of maps to the first one, which they return.
const merging = ` merge mergeOverwrite mustMerge mustMergeOverwrite `

// copying lists the functions that copy a list or a map without what its elements refer to.
const copying = ` chunk compact concat initial keys mustChunk mustCompact mustInitial mustPrepend mustRest
	mustReverse omit
	pick pluck prepend rest reverse values `

func within(name, list string) bool {
	for word := range strings.FieldsSeq(list) {
		if word == name {
			return true
		}
	}
	return false
}

// costOf returns how calls of a function are charged: before they run, and for the result.
func costOf(name string) (before func(*call) (cost, error), after func(*call, reflect.Value) error) {
	switch {
	case within(name, selecting):
		return (*call).flat, (*call).keepNothing
	case within(name, appending):
		return (*call).flat, (*call).keepNothing
	case within(name, flat):
		return (*call).flat, (*call).keep
	case within(name, copying):
		return (*call).copying, (*call).keep
	case within(name, merging):
		return (*call).linear, (*call).keepSources
	case name == "dict":
		return (*call).dict, (*call).keep
	}
	return (*call).linear, (*call).keepAll
}

// wrap returns a function of the same type, with an error as its second result, that is charged before it runs for what
// it may need, and afterwards for what it returned.
func (m *meter) wrap(name string, function any) any {
	value := reflect.ValueOf(function)
	t := value.Type()
	in := make([]reflect.Type, t.NumIn())
	for i := range in {
		in[i] = t.In(i)
	}
	noError := reflect.Zero(reflect.TypeFor[error]())
	fail := func(err error) []reflect.Value {
		failure := reflect.New(noError.Type()).Elem()
		failure.Set(reflect.ValueOf(err))
		return []reflect.Value{reflect.Zero(t.Out(0)), failure}
	}
	before, after := costOf(name)
	run := value.Call
	if t.IsVariadic() {
		run = value.CallSlice
	}
	wrapped := func(args []reflect.Value) []reflect.Value {
		c := &call{meter: m, name: name, args: flatten(args, t.IsVariadic())}
		needed, err := before(c)
		if err == nil && needed.memory > m.memory {
			err = errMemory
		}
		if err == nil {
			err = m.charge(callWork+needed.work, 0)
		}
		if err != nil {
			return fail(err)
		}
		results := run(args)
		if err := after(c, bare(results[0])); err != nil {
			return fail(err)
		}
		return append(results, noError)[:2]
	}
	out := []reflect.Type{t.Out(0), noError.Type()}
	return reflect.MakeFunc(reflect.FuncOf(in, out, t.IsVariadic()), wrapped).Interface()
}

// flatten returns the arguments one by one, without interfaces.
func flatten(args []reflect.Value, variadic bool) []reflect.Value {
	var out []reflect.Value
	for i, arg := range args {
		if variadic && i == len(args)-1 {
			for j := range arg.Len() {
				out = append(out, bare(arg.Index(j)))
			}
			continue
		}
		out = append(out, bare(arg))
	}
	return out
}

func bare(value reflect.Value) reflect.Value {
	if value.Kind() == reflect.Interface {
		return value.Elem()
	}
	return value
}

// keep charges for the memory of a result without what its elements refer to.
func (c *call) keep(result reflect.Value) error {
	memory := int64(emptySize)
	switch result.Kind() {
	case reflect.Slice:
		memory += int64(result.Len()) * int64(result.Type().Elem().Size())
	case reflect.Map:
		memory += int64(result.Len()) * entrySize
	case reflect.String:
		memory += int64(result.Len())
	}
	return c.meter.charge(0, memory)
}

// keepAll charges for the memory of a result with everything that it refers to.
func (c *call) keepAll(result reflect.Value) error {
	size, err := c.meter.size(result)
	if err != nil {
		return err
	}
	return c.meter.charge(0, size)
}

// keepSources charges for the entries that a function has copied to its first argument.
func (c *call) keepSources(reflect.Value) error {
	for _, source := range c.args[min(1, len(c.args)):] {
		if err := c.keepAll(source); err != nil {
			return err
		}
	}
	return nil
}

// keepNothing charges for a result that existed before the call, or is already charged; set makes an entry of a map.
func (c *call) keepNothing(reflect.Value) error {
	if c.name == "set" {
		return c.meter.charge(0, entrySize)
	}
	return nil
}

// flat is the cost of a function that does not go through lists and maps.
func (c *call) flat() (cost, error) {
	out := cost{work: int64(len(c.args)), memory: emptySize * int64(len(c.args))}
	if within(c.name, appending) || within(c.name, selecting) && !within(c.name, reading) {
		return out, nil
	}
	for _, arg := range c.args {
		out.work += 2 * stringWork(arg)
	}
	if strings.EqualFold(c.name, "trimAll") { // Each rune of the text is looked up in the first argument.
		out.work += product(c.length(0), c.length(1)) / 32
	}
	return out, nil
}

// copying is the cost of a function that copies lists or maps.
func (c *call) copying() (cost, error) {
	var elements int64
	args := c.args
	if strings.HasSuffix(c.name, "repend") { // The second argument is the new element.
		args = args[:min(1, len(args))]
	}
	for _, arg := range args {
		switch arg.Kind() {
		case reflect.Slice, reflect.Array, reflect.Map:
			elements += int64(arg.Len())
		}
	}
	return cost{work: elements + int64(len(c.args)), memory: entrySize * elements}, nil
}

// dict is the cost of making a map, whose keys are converted to text.
func (c *call) dict() (cost, error) {
	out := cost{work: int64(len(c.args)), memory: entrySize * int64(len(c.args))}
	for i := 0; i < len(c.args); i += 2 {
		size, err := c.meter.size(c.args[i])
		if err != nil {
			return cost{}, err
		}
		out.memory += growth * size
	}
	return out, nil
}

// linear is the cost of a function that goes through all of its arguments.
func (c *call) linear() (cost, error) {
	var size int64
	for _, arg := range c.args {
		one, err := c.meter.size(arg)
		if err != nil {
			return cost{}, err
		}
		size += one
	}
	out := cost{work: size / 4, memory: growth * size}
	special := c.special(size)
	return cost{work: max(out.work, special.work), memory: max(out.memory, special.memory)}, nil
}

// special is the cost of a function that does more than its arguments have bytes; size is what they have.
func (c *call) special(size int64) cost {
	switch name := strings.TrimPrefix(c.name, "must"); name {
	case "repeat":
		return bytesOf(product(c.number(0), c.length(1)))
	case "until":
		return bytesOf(product(c.number(0), numberSize))
	case "untilStep", "seq":
		return bytesOf(product(c.steps(), 4*numberSize))
	case "indent", "nindent":
		return bytesOf(product(c.number(0), 2+int64(strings.Count(c.text(1), "\n"))) + size)
	case "replace":
		return bytesOf(product(int64(strings.Count(c.text(2), c.text(0))), c.length(1)) + size)
	case "wrapWith":
		return bytesOf(product(c.length(2)/max(1, c.number(0))+1, c.length(1)) + size)
	case "join":
		return bytesOf(product(size/emptySize, c.length(0)) + size)
	case "printf":
		return c.format(size)
	case "split", "splitn", "splitList":
		parts := 1 + max(strings.Count(c.text(0), c.text(1)), strings.Count(c.text(len(c.args)-1), c.text(0)))
		return bytesOf(product(int64(parts), 128) + size)
	case "fromJson":
		return bytesOf(product(size, 40))
	case "randAlphaNum", "randAlpha", "randAscii", "randNumeric", "randBytes":
		return cost{work: product(c.number(0), 20), memory: product(c.number(0), 8)}
	case "addf", "subf", "mulf", "divf": // Each argument makes the numbers longer.
		return cost{work: int64(10 * len(c.args) * len(c.args))}
	case "uniq", "Uniq":
		return cost{work: product(size, size/(32*numberSize))}
	case "without", "Without":
		return cost{work: product(size/8, int64(len(c.args)))}
	case "semver", "semverCompare":
		if size > longestVersion {
			return cost{work: impossible}
		}
		return cost{work: 10 * size}
	case "dateInZone", "date_in_zone", "toDate", "ToDate", "htmlDateInZone", "getHostByName":
		return cost{work: 2_000} // A file with the zone, or an answer from the network, is read.
	}
	if strings.Contains(c.name, "egex") {
		return c.regex()
	}
	return c.cryptography(size)
}

// cryptography is the cost of making keys and digests of passwords.
func (c *call) cryptography(size int64) cost {
	var work int64
	switch c.name {
	case "bcrypt", "htpasswd":
		work = 500_000
	case "derivePassword":
		work = 1_000_000
	case "genCA", "genCAWithKey", "genSelfSignedCert", "genSelfSignedCertWithKey", "genSignedCert", "genSignedCertWithKey":
		work = 5_000_000
	case "genPrivateKey":
		switch c.text(0) {
		case "ecdsa", "ed25519":
			work = 500_000
		case "dsa":
			work = 20_000_000
		default:
			work = 10_000_000
		}
	default:
		return cost{}
	}
	if size > longestKeys {
		return cost{work: impossible}
	}
	return cost{work: work}
}

// format is the cost of printf: widths, which apply to each element of a list, make the output longer, and indexes
// repeat arguments.
func (c *call) format(size int64) cost {
	const widest = 1_000_000 // Package fmt refuses more.
	var largest int64        // Of the numbers that may be the width of *.
	elements := int64(1)
	for i, arg := range c.args {
		if i > 0 {
			largest = min(max(largest, c.number(i)), widest)
		}
		inner, _ := content(arg)
		switch inner.Kind() {
		case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
			largest = widest
		case reflect.Slice, reflect.Array, reflect.Map, reflect.Struct:
			elements = size / 4 // A byte of a list is the smallest one, see sizeOfList.
		}
	}
	text := c.text(0)
	var total, number int64
	verb := false
	for _, r := range text {
		digit := r >= '0' && r <= '9'
		if verb && digit {
			number = min(number*10+int64(r-'0'), widest)
			continue
		}
		total, number = total+number, 0
		if verb && r == '*' {
			total += largest
		}
		verb = r == '%' && !verb || verb && strings.ContainsRune("+-# .*[]", r)
	}
	arguments := product(size, growth/2)
	if strings.Contains(text, "[") {
		arguments = product(arguments, int64(strings.Count(text, "%")))
	}
	return bytesOf(arguments + product(4*total, elements)) // A rune takes up to four bytes.
}

// bytesOf is the cost of making that many bytes.
func bytesOf(count int64) cost { return cost{work: count / 32, memory: count} }

// steps returns how many numbers untilStep or seq make.
func (c *call) steps() int64 {
	first, last, step := int64(1), c.signed(len(c.args)-1), int64(1)
	switch {
	case c.name == "untilStep":
		first, last, step = c.signed(0), c.signed(1), c.signed(2)
	case len(c.args) == 2:
		first = c.signed(0)
	case len(c.args) > 2:
		first, step = c.signed(0), c.signed(1)
	}
	const most = 1 << 53 // Beyond that the numbers may overflow, and the loop would not end.
	for _, number := range []int64{first, last, step} {
		if number > most || number < -most {
			return impossible
		}
	}
	if step == 0 {
		return 2
	}
	return 2 + magnitude(last-first)/magnitude(step)
}

// signed returns an integer argument.
func (c *call) signed(index int) int64 {
	if index < 0 || index >= len(c.args) || !c.args[index].CanInt() {
		return 0
	}
	return c.args[index].Int()
}

// number returns the magnitude of an integer argument.
func (c *call) number(index int) int64 { return magnitude(c.signed(index)) }

func magnitude(number int64) int64 {
	if number == math.MinInt64 {
		return math.MaxInt64
	}
	return max(number, -number)
}

// text returns a string argument.
func (c *call) text(index int) string {
	if index < 0 || index >= len(c.args) || c.args[index].Kind() != reflect.String {
		return ""
	}
	return c.args[index].String()
}

func (c *call) length(index int) int64 { return int64(len(c.text(index))) }

// product is a*b of numbers that are not negative, at most impossible.
func product(a, b int64) int64 {
	if a > 0 && b > impossible/a {
		return impossible
	}
	return a * b
}
