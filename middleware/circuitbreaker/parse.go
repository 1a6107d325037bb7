package circuitbreaker

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"strconv"
	"time"
)

// maxExpression is the maximum length of an expression in bytes, which also bounds its depth and its counters.
const maxExpression = 1024

// parse parses an expression in Go's syntax: comparisons (==, !=, <, <=, >, >=) of a function with a number, joined by
// &&, ||, ! and parentheses.
func parse(text string) (*expression, error) {
	if text == "" {
		return nil, errors.New("it is empty")
	}
	if len(text) > maxExpression {
		return nil, fmt.Errorf("it has %d bytes, at most %d are allowed", len(text), maxExpression)
	}
	tree, err := parser.ParseExpr(text)
	if faults, ok := errors.AsType[scanner.ErrorList](err); ok && len(faults) > 0 {
		return nil, fmt.Errorf("%s at byte %d", faults[0].Msg, faults[0].Pos.Offset+1)
	}
	if err != nil {
		return nil, err
	}
	e := new(expression)
	if e.holds, err = e.condition(tree); err != nil {
		return nil, err
	}
	return e, nil
}

// condition compiles a boolean expression.
func (e *expression) condition(tree ast.Expr) (condition, error) {
	switch node := tree.(type) {
	case *ast.ParenExpr:
		return e.condition(node.X)
	case *ast.UnaryExpr:
		if node.Op != token.NOT {
			break
		}
		inner, err := e.condition(node.X)
		if err != nil {
			return nil, err
		}
		return func(figures []float64) bool { return !inner(figures) }, nil
	case *ast.BinaryExpr:
		if node.Op == token.LAND || node.Op == token.LOR {
			return e.junction(node)
		}
		return e.comparison(node)
	case *ast.CallExpr:
		if name, ok := node.Fun.(*ast.Ident); ok {
			if _, err := e.call(node); err != nil {
				return nil, err
			}
			return nil, fmt.Errorf("%s is not compared with a number", name.Name)
		}
	}
	return nil, errors.New("it is not made of !, &&, || and comparisons")
}

// junction compiles && and ||.
func (e *expression) junction(node *ast.BinaryExpr) (condition, error) {
	left, err := e.condition(node.X)
	if err != nil {
		return nil, err
	}
	right, err := e.condition(node.Y)
	if err != nil {
		return nil, err
	}
	if node.Op == token.LAND {
		return func(figures []float64) bool { return left(figures) && right(figures) }, nil
	}
	return func(figures []float64) bool { return left(figures) || right(figures) }, nil
}

// comparison compiles the comparison of a function with a number, in either order.
func (e *expression) comparison(node *ast.BinaryExpr) (condition, error) {
	function, limit, operator := bare(node.X), bare(node.Y), node.Op
	if _, swapped := limit.(*ast.CallExpr); swapped {
		if _, both := function.(*ast.CallExpr); both {
			return nil, errors.New("a function is compared with a function; one side must be a number")
		}
		function, limit, operator = limit, function, mirrored(operator)
	}
	call, ok := function.(*ast.CallExpr)
	if !ok {
		return nil, fmt.Errorf("nothing that is counted is on either side of %s; one of %s is wanted", node.Op, functions)
	}
	number, err := e.call(call)
	if err != nil {
		return nil, err
	}
	than, err := literal(limit)
	if err != nil {
		return nil, err
	}
	if name, named := call.Fun.(*ast.Ident); named && name.Name == latencyAtQuantile {
		if slow := time.Duration(min(than, maxLatency)+1) * time.Millisecond; e.patience == 0 || slow < e.patience {
			e.patience = slow
		}
	}
	return compare(operator, number, than)
}

func compare(operator token.Token, number int, than float64) (condition, error) {
	switch operator {
	case token.EQL:
		return func(figures []float64) bool { return figures[number] == than }, nil
	case token.NEQ:
		return func(figures []float64) bool { return figures[number] != than }, nil
	case token.LSS:
		return func(figures []float64) bool { return figures[number] < than }, nil
	case token.LEQ:
		return func(figures []float64) bool { return figures[number] <= than }, nil
	case token.GTR:
		return func(figures []float64) bool { return figures[number] > than }, nil
	case token.GEQ:
		return func(figures []float64) bool { return figures[number] >= than }, nil
	}
	return nil, fmt.Errorf("unknown operator %s; one of !, &&, ||, ==, !=, <, <=, >, >=", operator)
}

// mirrored returns the operator for swapped operands.
func mirrored(operator token.Token) token.Token {
	switch operator {
	case token.LSS:
		return token.GTR
	case token.LEQ:
		return token.GEQ
	case token.GTR:
		return token.LSS
	case token.GEQ:
		return token.LEQ
	}
	return operator
}

// call returns the index of a call's measure.
func (e *expression) call(node *ast.CallExpr) (int, error) {
	name, ok := node.Fun.(*ast.Ident)
	if !ok || node.Ellipsis.IsValid() {
		return 0, fmt.Errorf("a call of no function; one of %s is wanted", functions)
	}
	arguments := make([]float64, len(node.Args))
	for i, argument := range node.Args {
		var err error
		if arguments[i], err = literal(bare(argument)); err != nil {
			return 0, fmt.Errorf("argument %d of %s: %w", i+1, name.Name, err)
		}
	}
	return e.measure(name.Name, arguments)
}

// bare removes parentheses.
func bare(tree ast.Expr) ast.Expr {
	for {
		parenthesis, ok := tree.(*ast.ParenExpr)
		if !ok {
			return tree
		}
		tree = parenthesis.X
	}
}

// literal returns the value of a number.
func literal(tree ast.Expr) (float64, error) {
	number, ok := tree.(*ast.BasicLit)
	if !ok {
		return 0, errors.New("a number of 0 or more is wanted")
	}
	switch number.Kind {
	case token.INT:
		if value, err := strconv.ParseInt(number.Value, 10, 32); err == nil { // as Traefik reads them: 010 is ten
			return float64(value), nil
		}
	case token.FLOAT:
		if value, err := strconv.ParseFloat(number.Value, 64); err == nil {
			return value, nil
		}
	}
	return 0, fmt.Errorf("%s is not a number, or one that is too large", number.Value)
}
