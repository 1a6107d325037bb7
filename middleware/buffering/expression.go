package buffering

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"strconv"
)

// try is what an expression can refer to of an attempt that has ended.
type try struct {
	method string
	// number counts the attempts, from 1; status is that of the response.
	number, status int
}

// expression says whether another try is made after one.
type expression func(t try) bool

type (
	number func(t try) int
	text   func(t try) string
)

// maxExpression bounds an expression, in bytes.
const maxExpression = 4 << 10

// functions lists what an expression may call.
const functions = "IsNetworkError(), Attempts(), ResponseCode() and RequestMethod()"

// parse reads an expression: conditions joined by && and ||, which bind as in Go, with parentheses. A condition is
// IsNetworkError(), or Attempts() or ResponseCode() compared with a number, or RequestMethod() compared by == or !=
// with a quoted string, in that order.
func parse(source string) (expression, error) {
	if len(source) > maxExpression {
		return nil, fmt.Errorf("longer than %d bytes", maxExpression)
	}
	tree, err := parser.ParseExpr(source)
	if err != nil {
		return nil, err
	}
	value, err := compile(tree)
	if err != nil {
		return nil, err
	}
	condition, ok := value.(expression)
	if !ok {
		return nil, errors.New("it is no condition: compare " + functions + ", or use IsNetworkError()")
	}
	return condition, nil
}

// compile returns an expression, a number, a text, an int or a string.
func compile(tree ast.Expr) (any, error) {
	switch node := tree.(type) {
	case *ast.ParenExpr:
		return compile(node.X)
	case *ast.BinaryExpr:
		left, err := compile(node.X)
		if err != nil {
			return nil, err
		}
		right, err := compile(node.Y)
		if err != nil {
			return nil, err
		}
		return join(node.Op, left, right)
	case *ast.CallExpr:
		return call(node)
	case *ast.BasicLit:
		return literal(node)
	}
	return nil, errors.New("it may consist of " + functions +
		", numbers, quoted strings, comparisons, &&, || and parentheses only")
}

// call returns what a function stands for.
func call(node *ast.CallExpr) (any, error) {
	name, ok := node.Fun.(*ast.Ident)
	if !ok {
		return nil, errors.New("the functions are " + functions)
	}
	if len(node.Args) > 0 {
		return nil, fmt.Errorf("%s takes nothing in its parentheses", name.Name)
	}
	switch name.Name {
	case "IsNetworkError":
		return expression(func(t try) bool {
			return t.status == http.StatusBadGateway || t.status == http.StatusGatewayTimeout
		}), nil
	case "Attempts":
		return number(func(t try) int { return t.number }), nil
	case "ResponseCode":
		return number(func(t try) int { return t.status }), nil
	case "RequestMethod":
		return text(func(t try) string { return t.method }), nil
	}
	return nil, fmt.Errorf("%s is unknown: the functions are %s", name.Name, functions)
}

// literal returns an int or a string.
func literal(node *ast.BasicLit) (any, error) {
	switch node.Kind {
	case token.INT:
		value, err := strconv.Atoi(node.Value)
		if err != nil {
			return nil, fmt.Errorf("%s is no decimal number of this size", node.Value)
		}
		return value, nil
	case token.STRING:
		value, err := strconv.Unquote(node.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", node.Value, err)
		}
		return value, nil
	default:
		return nil, fmt.Errorf("%s is neither a whole number nor a string in double quotes", node.Value)
	}
}

// join joins two conditions, or compares a function with a value.
func join(operator token.Token, left, right any) (any, error) {
	switch left := left.(type) {
	case expression:
		if right, ok := right.(expression); ok {
			return both(operator, left, right)
		}
	case number:
		if right, ok := right.(int); ok {
			return numbers(operator, left, right)
		}
	case text:
		if right, ok := right.(string); ok {
			return texts(operator, left, right)
		}
	}
	return nil, fmt.Errorf("the sides of %s do not fit: a function stands left of its value, and conditions are "+
		"joined by && and ||", operator)
}

func both(operator token.Token, left, right expression) (any, error) {
	switch operator {
	case token.LAND:
		return expression(func(t try) bool { return left(t) && right(t) }), nil
	case token.LOR:
		return expression(func(t try) bool { return left(t) || right(t) }), nil
	default:
		return nil, fmt.Errorf("conditions are joined by && and ||, not %s", operator)
	}
}

func numbers(operator token.Token, left number, right int) (any, error) {
	var condition expression
	switch operator {
	case token.EQL:
		condition = func(t try) bool { return left(t) == right }
	case token.NEQ:
		condition = func(t try) bool { return left(t) != right }
	case token.LSS:
		condition = func(t try) bool { return left(t) < right }
	case token.LEQ:
		condition = func(t try) bool { return left(t) <= right }
	case token.GTR:
		condition = func(t try) bool { return left(t) > right }
	case token.GEQ:
		condition = func(t try) bool { return left(t) >= right }
	default:
		return nil, fmt.Errorf("numbers are compared by ==, !=, <, <=, > and >=, not %s", operator)
	}
	return condition, nil
}

func texts(operator token.Token, left text, right string) (any, error) {
	switch operator {
	case token.EQL:
		return expression(func(t try) bool { return left(t) == right }), nil
	case token.NEQ:
		return expression(func(t try) bool { return left(t) != right }), nil
	default:
		return nil, fmt.Errorf("RequestMethod() is compared by == and !=, not %s", operator)
	}
}
