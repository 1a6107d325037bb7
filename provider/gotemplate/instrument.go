package gotemplate

import (
	"text/template"
	"text/template/parse"
)

// The functions that instrument puts into a template (see meter.checks). A template cannot call them itself, since they
// are not known while it is parsed.
const (
	stepFunction    = "_step"    // the beginning of a loop body
	enterFunction   = "_enter"   // the beginning of a template
	leaveFunction   = "_leave"   // the end of a template
	iterateFunction = "_iterate" // the last command of the pipeline of a range
	printFunction   = "_print"   // the last command of a pipeline that is printed
	weighFunction   = "_weigh"   // each argument of a function that is not wrapped
	loadFunction    = "_load"    // each argument of a method
)

// instrument changes a template so that all its work is charged, and returns the names of the functions that are to be
// wrapped.
func instrument(tree *parse.Tree, known template.FuncMap) map[string]bool {
	i := instrumenter{known: known, used: map[string]bool{}}
	if tree == nil || tree.Root == nil {
		return i.used
	}
	i.countVariables(tree.Root)
	pos := tree.Root.Pos
	cost := i.list(tree.Root)
	tree.Root.Nodes = append([]parse.Node{charging(pos, enterFunction, cost)}, tree.Root.Nodes...)
	tree.Root.Nodes = append(tree.Root.Nodes, charging(pos, leaveFunction, 0))
	return i.used
}

type instrumenter struct {
	known     template.FuncMap
	used      map[string]bool
	variables int64 // that the template declares; a use looks through all of them
}

func (i *instrumenter) countVariables(node parse.Node) {
	walk(node, func(n parse.Node) {
		if pipe, ok := n.(*parse.PipeNode); ok {
			i.variables += int64(len(pipe.Decl))
		}
	})
}

// weight is what one run through a pipeline or an action costs, without the functions that it calls.
func (i *instrumenter) weight(node parse.Node) (cost int64) {
	walk(node, func(n parse.Node) {
		cost++
		switch n := n.(type) {
		case *parse.VariableNode:
			cost += int64(len(n.Ident)) + i.variables*int64(1+len(n.Ident[0])/16)/64 + int64(len(n.String())/32)
		case *parse.FieldNode:
			cost += int64(len(n.Ident) + len(n.String())/32)
		case *parse.ChainNode:
			cost += int64(len(n.Field))
			for _, name := range n.Field {
				cost += int64(len(name) / 32)
			}
		case *parse.NumberNode:
			cost += int64(len(n.Text) / 32)
		case *parse.StringNode:
			cost += int64(len(n.Text) / 32)
		}
	})
	return cost
}

// list changes the nodes of a list and returns what one run through it costs, without the bodies of its loops.
func (i *instrumenter) list(list *parse.ListNode) (cost int64) {
	if list == nil {
		return 0
	}
	cost = 1
	for _, node := range list.Nodes {
		switch n := node.(type) {
		case *parse.ActionNode:
			cost += i.weight(n)
			i.pipe(n.Pipe)
			if len(n.Pipe.Decl) == 0 {
				n.Pipe.Cmds = append(n.Pipe.Cmds, command(n.Pos, printFunction))
			}
		case *parse.TemplateNode:
			cost += i.weight(n)
			i.pipe(n.Pipe)
		case *parse.IfNode:
			cost += i.branch(&n.BranchNode) + i.list(n.List)
		case *parse.WithNode:
			cost += i.branch(&n.BranchNode) + i.list(n.List)
		case *parse.RangeNode:
			cost += i.branch(&n.BranchNode)
			n.Pipe.Cmds = append(n.Pipe.Cmds, command(n.Pos, iterateFunction))
			step := charging(n.Pos, stepFunction, i.list(n.List))
			n.List.Nodes = append([]parse.Node{step}, n.List.Nodes...)
		default:
			cost++
		}
	}
	return cost
}

// branch changes what is run at most once: the pipeline and the list behind else.
func (i *instrumenter) branch(n *parse.BranchNode) (cost int64) {
	cost = 1 + i.weight(n.Pipe)
	i.pipe(n.Pipe)
	return cost + i.list(n.ElseList)
}

func (i *instrumenter) pipe(pipe *parse.PipeNode) {
	if pipe == nil {
		return
	}
	var out []*parse.CommandNode
	for at, cmd := range pipe.Cmds {
		for _, arg := range cmd.Args {
			i.nested(arg)
		}
		check := i.check(cmd, at > 0)
		if check != "" {
			for j := 1; j < len(cmd.Args); j++ {
				cmd.Args[j] = checked(cmd.Args[j], check)
			}
			if at > 0 {
				out = append(out, command(cmd.Pos, check))
			}
		}
		out = append(out, cmd)
	}
	pipe.Cmds = out
}

// nested goes into the pipelines within an argument.
func (i *instrumenter) nested(arg parse.Node) {
	switch n := arg.(type) {
	case *parse.PipeNode:
		i.pipe(n)
	case *parse.ChainNode:
		i.nested(n.Node)
	case *parse.IdentifierNode: // A function without arguments, as an argument.
		if _, ok := i.known[n.Ident]; ok {
			i.used[n.Ident] = true
		}
	}
}

// check returns the function that checks the arguments of a command; empty when the command is wrapped or has none.
func (i *instrumenter) check(cmd *parse.CommandNode, piped bool) string {
	if len(cmd.Args) < 2 && !piped {
		return ""
	}
	switch n := cmd.Args[0].(type) {
	case *parse.IdentifierNode:
		if _, ok := i.known[n.Ident]; ok {
			return ""
		}
		return weighFunction
	case *parse.FieldNode, *parse.VariableNode, *parse.ChainNode:
		return loadFunction
	}
	return ""
}

// checked returns an argument behind a check. Constants need none, since weight counts them, except for methods.
func checked(arg parse.Node, check string) parse.Node {
	switch arg.(type) {
	case *parse.StringNode:
		if check != loadFunction {
			return arg
		}
	case *parse.PipeNode, *parse.ChainNode, *parse.FieldNode, *parse.VariableNode, *parse.DotNode, *parse.IdentifierNode:
	default:
		return arg
	}
	cmd := command(arg.Position(), check)
	cmd.Args = append(cmd.Args, arg)
	return &parse.PipeNode{NodeType: parse.NodePipe, Pos: arg.Position(), Cmds: []*parse.CommandNode{cmd}}
}

// charging returns an action that calls a function with one number.
func charging(pos parse.Pos, function string, number int64) parse.Node {
	cmd := command(pos, function)
	cmd.Args = append(cmd.Args, &parse.NumberNode{NodeType: parse.NodeNumber, Pos: pos, IsInt: true, Int64: number})
	pipe := &parse.PipeNode{NodeType: parse.NodePipe, Pos: pos, Cmds: []*parse.CommandNode{cmd}}
	return &parse.ActionNode{NodeType: parse.NodeAction, Pos: pos, Pipe: pipe}
}

func command(pos parse.Pos, function string) *parse.CommandNode {
	name := parse.NewIdentifier(function).SetPos(pos)
	return &parse.CommandNode{NodeType: parse.NodeCommand, Pos: pos, Args: []parse.Node{name}}
}

// walk calls visit for a node and all below it.
func walk(node parse.Node, visit func(parse.Node)) {
	visit(node)
	switch n := node.(type) {
	case *parse.ListNode:
		for _, child := range n.Nodes {
			walk(child, visit)
		}
	case *parse.ActionNode:
		walk(n.Pipe, visit)
	case *parse.PipeNode:
		for _, cmd := range n.Cmds {
			walk(cmd, visit)
		}
	case *parse.CommandNode:
		for _, arg := range n.Args {
			walk(arg, visit)
		}
	case *parse.ChainNode:
		walk(n.Node, visit)
	case *parse.TemplateNode:
		if n.Pipe != nil {
			walk(n.Pipe, visit)
		}
	case *parse.IfNode:
		walkBranch(&n.BranchNode, visit)
	case *parse.WithNode:
		walkBranch(&n.BranchNode, visit)
	case *parse.RangeNode:
		walkBranch(&n.BranchNode, visit)
	}
}

func walkBranch(n *parse.BranchNode, visit func(parse.Node)) {
	walk(n.Pipe, visit)
	walk(n.List, visit)
	if n.ElseList != nil {
		walk(n.ElseList, visit)
	}
}
