package rule

import (
	"strconv"
	"strings"
)

// printNode writes a node so that parsing gives an equivalent one.
func printNode(n node) string {
	var b strings.Builder
	writeNode(&b, n)
	return b.String()
}

func writeNode(b *strings.Builder, n node) {
	switch n := n.(type) {
	case *and:
		writeSeries(b, n.operands, " && ", isOr)
	case *or:
		writeSeries(b, n.operands, " || ", func(node) bool { return false })
	case *not:
		b.WriteByte('!')
		writeGrouped(b, n.operand, isOperator(n.operand))
	case matcher:
		b.WriteString(printCall(n.name(), n.args()))
	}
}

func writeSeries(b *strings.Builder, operands []node, separator string, group func(node) bool) {
	for i, operand := range operands {
		if i > 0 {
			b.WriteString(separator)
		}
		writeGrouped(b, operand, group(operand))
	}
}

func writeGrouped(b *strings.Builder, n node, group bool) {
	if group {
		b.WriteByte('(')
		defer b.WriteByte(')')
	}
	writeNode(b, n)
}

func isOr(n node) bool {
	_, is := n.(*or)
	return is
}

// isOperator reports whether a negation has to put parentheses around n.
func isOperator(n node) bool {
	_, conjunction := n.(*and)
	return conjunction || isOr(n)
}

// printCall writes one matcher.
func printCall(name string, args []string) string {
	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = quote(arg)
	}
	return name + "(" + strings.Join(quoted, ", ") + ")"
}

// quote prefers backticks, which keep the backslashes of regular expressions readable.
func quote(s string) string {
	if strconv.CanBackquote(s) {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}
