package rule

import (
	"strings"

	"github.com/sluiceproxy/sluice/router/rule/expression"
)

// instruction is one matcher of a rule with where to go on. Rules are decided by a few instructions in one block of
// memory rather than by the tree that the parser builds, because among many routes fetching a rule from memory costs
// more than deciding it.
type instruction struct {
	// text is what the tests of their own compare with.
	text string
	// matcher decides where there is no test of its own.
	matcher matcher
	// yes and no are the next instructions, or accept, or refuse.
	yes, no int32
	test    test
}

const (
	accept int32 = -1 - iota
	refuse
)

// test names the matchers that need no call.
type test uint8

const (
	testMatcher test = iota
	testHost
	testWildcard
	testPath
	testPrefix
	testSuffix
	testSegments
	testMethod
)

// run decides a request.
func run(program []instruction, r *Request) bool {
	at := int32(0)
	for at >= 0 {
		i := &program[at]
		if i.holds(r) {
			at = i.yes
		} else {
			at = i.no
		}
	}
	return at == accept
}

func (i *instruction) holds(r *Request) bool {
	switch i.test {
	case testHost:
		return r.Host == i.text
	case testWildcard:
		return expression.WildcardKey(r.Host) == i.text
	case testPath:
		return r.Path == i.text
	case testPrefix:
		return strings.HasPrefix(r.Path, i.text)
	case testSuffix:
		return expression.HasSuffix(r.Host, i.text)
	case testSegments:
		return hasSegments(r.Path, i.text)
	case testMethod:
		return r.Method == i.text
	default:
		return i.matcher.Match(r)
	}
}

// compile appends the instructions of a tree.
func compile(program []instruction, root node) []instruction {
	program, _ = emit(program, root, accept, refuse)
	// What follows was emitted first.
	last := int32(len(program) - 1)
	for i, j := int32(0), last; i < j; i, j = i+1, j-1 {
		program[i], program[j] = program[j], program[i]
	}
	for i := range program {
		program[i].yes = turned(program[i].yes, last)
		program[i].no = turned(program[i].no, last)
	}
	return program
}

func turned(at, last int32) int32 {
	if at < 0 {
		return at
	}
	return last - at
}

// emit appends the instructions of a node, the last one first, and returns which of them comes first. The instructions
// to go on with are known by then.
func emit(program []instruction, n node, yes, no int32) (_ []instruction, first int32) {
	switch n := n.(type) {
	case *expression.Not[Request]:
		return emit(program, n.Operand, no, yes)
	case *expression.And[Request]:
		for i := len(n.Operands) - 1; i >= 0; i-- {
			program, yes = emit(program, n.Operands[i], yes, no)
		}
		return program, yes
	case *expression.Or[Request]:
		for i := len(n.Operands) - 1; i >= 0; i-- {
			program, no = emit(program, n.Operands[i], yes, no)
		}
		return program, no
	case matcher:
		i := instructionOf(n)
		i.yes, i.no = yes, no
		program = append(program, i)
	}
	return program, int32(len(program) - 1)
}

func instructionOf(m matcher) instruction {
	switch m := m.(type) {
	case *hostExact:
		return instruction{test: testHost, text: m.host}
	case *hostWildcard:
		return instruction{test: testWildcard, text: m.domain}
	case *pathExact:
		return instruction{test: testPath, text: m.path}
	case *pathPrefix:
		return instruction{test: testPrefix, text: m.prefix}
	case *hostSuffix:
		return instruction{test: testSuffix, text: m.domain}
	case *pathSegmentPrefix:
		return instruction{test: testSegments, text: m.prefix}
	case *methodEqual:
		return instruction{test: testMethod, text: m.method}
	}
	return instruction{matcher: m}
}
