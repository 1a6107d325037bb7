package gotemplate

import (
	"math"
	"reflect"
	"regexp/syntax"
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
	// longestPattern bounds a regular expression, in bytes, and largestPattern the program that it becomes, in
	// instructions.
	longestPattern, largestPattern = 4 << 10, 20_000
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
const flat = ` add add1 all any base ceil clean coalesce contains default dig dir div empty ext fail first float64
	floor get hasKey hasPrefix hasSuffix hello int int64 isAbs kindIs kindOf last list max maxf min minf mod mul mustFirst
	mustLast mustSlice now osBase osClean osDir osExt osIsAbs plural randInt round set slice sub substr ternary trim trimAll
	trimall trimPrefix trimSuffix trunc tuple typeIs typeIsLike typeOf unset biggest `

// copying lists the functions that copy a list or a map without what its elements refer to.
const copying = ` append chunk compact concat initial keys mustAppend mustChunk mustCompact mustInitial mustPrepend mustPush
	mustRest mustReverse omit pick pluck prepend push rest reverse values `

func within(name, list string) bool {
	for word := range strings.FieldsSeq(list) {
		if word == name {
			return true
		}
	}
	return false
}

// newWrapper returns how calls of a function are charged.
func newWrapper(name string) (before func(*call) (cost, error), deep bool) {
	switch {
	case within(name, flat):
		return (*call).flat, false
	case within(name, copying):
		return (*call).copying, false
	case name == "dict":
		return (*call).dict, false
	}
	return (*call).linear, true
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
	before, deep := newWrapper(name)
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
		if err := m.keep(results[0], deep); err != nil {
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

// keep charges for the memory of a result.
func (m *meter) keep(result reflect.Value, deep bool) error {
	result = bare(result)
	memory := int64(emptySize)
	if deep {
		size, err := m.size(result)
		if err != nil {
			return err
		}
		return m.charge(0, size)
	}
	switch result.Kind() {
	case reflect.Slice:
		memory += int64(result.Len()) * int64(result.Type().Elem().Size())
	case reflect.Map:
		memory += int64(result.Len()) * 64
	case reflect.String:
		memory += int64(result.Len())
	}
	return m.charge(0, memory)
}

// flat is the cost of a function that does not go through lists and maps.
func (c *call) flat() (cost, error) {
	out := cost{work: int64(len(c.args)), memory: emptySize * int64(len(c.args))}
	for _, arg := range c.args {
		out.work += 2 * stringWork(arg)
	}
	return out, nil
}

// copying is the cost of a function that copies lists or maps.
func (c *call) copying() (cost, error) {
	var elements int64
	for _, arg := range c.args {
		switch arg.Kind() {
		case reflect.Slice, reflect.Array, reflect.Map:
			elements += int64(arg.Len())
		}
	}
	return cost{work: elements + int64(len(c.args)), memory: 64 * elements}, nil
}

// dict is the cost of making a map, whose keys are converted to text.
func (c *call) dict() (cost, error) {
	out := cost{work: int64(len(c.args)), memory: 64 * int64(len(c.args))}
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
		return cost{work: product(size, max(size/(32*numberSize), int64(len(c.args))))}
	case "semver", "semverCompare":
		if size > longestPattern {
			return cost{work: impossible}
		}
		return cost{work: 10 * size}
	case "dateInZone", "date_in_zone", "toDate", "ToDate", "htmlDateInZone", "getHostByName":
		return cost{work: 2_000} // A file with the zone, or an answer from the network, is read.
	}
	if strings.Contains(c.name, "egex") {
		return c.regex(size)
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

// format is the cost of printf: widths make the output longer, and indexes repeat arguments.
func (c *call) format(size int64) cost {
	const widest = 1_000_000 // Package fmt refuses more.
	text := c.text(0)
	var total, number int64
	verbs := int64(strings.Count(text, "%"))
	for _, r := range text {
		switch {
		case r >= '0' && r <= '9':
			number = min(number*10+int64(r-'0'), widest)
			continue
		case r == '*':
			total += widest
		}
		total, number = total+number, 0
	}
	arguments := product(size, growth/2)
	if strings.Contains(text, "[") {
		arguments = product(arguments, verbs)
	}
	return bytesOf(arguments + 4*total) // A rune takes up to four bytes.
}

// regex is the cost of compiling and running a regular expression.
func (c *call) regex(size int64) cost {
	if strings.HasSuffix(c.name, "QuoteMeta") {
		return cost{}
	}
	if c.length(0) > longestPattern {
		return cost{work: impossible}
	}
	parsed, err := syntax.Parse(c.text(0), syntax.Perl)
	if err != nil {
		return cost{}
	}
	instructions := instructionsOf(parsed)
	if instructions > largestPattern {
		return cost{work: impossible}
	}
	out := cost{work: 50*instructions + product(instructions, c.length(1)/4)}
	if strings.Contains(c.name, "Replace") {
		out.memory = product(2*c.length(1)+1, c.length(2)) + growth*size
		out.work = max(out.work, out.memory/4)
	}
	return out
}

// instructionsOf returns about how many instructions an expression is compiled to.
func instructionsOf(expression *syntax.Regexp) int64 {
	count := int64(2 + len(expression.Rune)/2)
	for _, sub := range expression.Sub {
		count += instructionsOf(sub)
	}
	if expression.Op == syntax.OpRepeat {
		count = product(count, int64(max(expression.Min, expression.Max, 1)))
	}
	return min(count, impossible)
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
