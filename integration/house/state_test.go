package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// constructors return immutable values, which are allowed at package level.
var constructors = []string{
	"errors.New", "fmt.Errorf", "regexp.MustCompile",
	"netip.MustParseAddr", "netip.MustParsePrefix", "netip.AddrFrom4", "netip.PrefixFrom",
	"reflect.TypeFor", "reflect.TypeOf",
	"strings.NewReplacer", "strings.Repeat", "strings.Join", "strings.Fields", "strings.ToUpper", "strings.ToLower",
	"slices.Concat", "slices.Sorted", "slices.Collect", "maps.Keys", "len", "time.Unix", "time.Date",
	"bytes.Repeat", "http.CanonicalHeaderKey", "textproto.CanonicalMIMEHeaderKey", "math.Inf", "os.Getpagesize",
}

// TestPackagesHoldNoState checks that packages have no state: no init function, and no package variable that could
// change. State belongs to a value that is passed on and may exist twice.
func TestPackagesHoldNoState(t *testing.T) {
	loaded := load(t)
	for _, folder := range loaded.folders {
		var sources []*ast.File
		for _, file := range folder.files {
			if !file.test {
				sources = append(sources, file.syntax)
			}
		}
		for _, complaint := range state(loaded.fset, sources) {
			t.Error(complaint)
		}
	}
}

// state returns what is wrong with the package variables and init functions of one package. Imports are not followed:
// nothing more than the scope of our own names is needed, and errors about types are expected.
func state(fset *token.FileSet, sources []*ast.File) []string {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: stranger{}, Error: func(error) {}}
	pkg, _ := config.Check("checked", fset, sources, info)
	checker := &stateChecker{fset: fset, pkg: pkg, uses: info.Uses}
	for _, file := range sources {
		for _, declaration := range file.Decls {
			checker.declaration(declaration)
		}
		ast.Inspect(file, checker.statement)
	}
	return checker.complaints
}

// stranger imports nothing.
type stranger struct{}

// Import fails.
func (stranger) Import(path string) (*types.Package, error) {
	return nil, fmt.Errorf("%s is not followed", path)
}

type stateChecker struct {
	fset       *token.FileSet
	pkg        *types.Package
	uses       map[*ast.Ident]types.Object
	complaints []string
}

func (c *stateChecker) complain(node ast.Node, format string, args ...any) {
	c.complaints = append(c.complaints, fmt.Sprintf("%s: ", c.fset.Position(node.Pos()))+fmt.Sprintf(format, args...))
}

// declaration looks at one declaration of a file.
func (c *stateChecker) declaration(declaration ast.Decl) {
	switch declaration := declaration.(type) {
	case *ast.FuncDecl:
		if declaration.Recv == nil && declaration.Name.Name == "init" {
			c.complain(declaration, "an init function runs without a call")
		}
	case *ast.GenDecl:
		if declaration.Tok != token.VAR {
			return
		}
		for _, spec := range declaration.Specs {
			c.variable(declaration, spec.(*ast.ValueSpec))
		}
	}
}

// variable looks at the declaration of package variables.
func (c *stateChecker) variable(declaration *ast.GenDecl, spec *ast.ValueSpec) {
	if spec.Names[0].Name == "_" || embedded(declaration.Doc) || embedded(spec.Doc) {
		return // A guard that a type has the methods of an interface; a file of the build.
	}
	if len(spec.Values) == 0 {
		c.complain(spec, "package variable %s begins without a value, so something must change it", spec.Names[0])
	}
	if mutable(spec.Type) {
		c.complain(spec, "package variable %s is made to change", spec.Names[0])
	}
	for _, value := range spec.Values {
		c.initial(spec.Names[0].Name, value)
	}
}

// initial looks at the value that a package variable begins with.
func (c *stateChecker) initial(name string, value ast.Expr) {
	ast.Inspect(value, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.FuncLit:
			return false // What a function does is looked at as a statement.
		case *ast.CompositeLit:
			if mutable(node.Type) {
				c.complain(node, "package variable %s is made to change", name)
			}
		case *ast.CallExpr:
			if called := types.ExprString(node.Fun); !slices.Contains(constructors, strings.SplitN(called, "[", 2)[0]) &&
				!c.conversion(node.Fun) {
				c.complain(node, "package variable %s begins with the result of %s, which may change", name, called)
			}
		}
		return true
	})
}

// conversion reports whether a call's function is a type.
func (c *stateChecker) conversion(fun ast.Expr) bool {
	switch fun := fun.(type) {
	case *ast.Ident:
		_, isType := c.uses[fun].(*types.TypeName)
		return isType
	case *ast.ParenExpr, *ast.ArrayType, *ast.MapType:
		return true
	case *ast.SelectorExpr:
		return types.ExprString(fun) == "http.HandlerFunc"
	}
	return false
}

// statement looks for what changes a package variable.
func (c *stateChecker) statement(node ast.Node) bool {
	switch node := node.(type) {
	case *ast.AssignStmt:
		if node.Tok != token.DEFINE {
			for _, target := range node.Lhs {
				c.changed(target)
			}
		}
	case *ast.IncDecStmt:
		c.changed(node.X)
	case *ast.SendStmt:
		c.changed(node.Chan)
	case *ast.RangeStmt:
		if node.Tok == token.ASSIGN {
			c.changed(node.Key)
		}
	case *ast.UnaryExpr:
		if node.Op == token.AND {
			c.changed(node.X)
		}
	case *ast.CallExpr:
		if builtin, ok := node.Fun.(*ast.Ident); ok && slices.Contains([]string{"delete", "clear", "copy"}, builtin.Name) &&
			len(node.Args) > 0 {
			c.changed(node.Args[0])
		}
	}
	return true
}

// changed complains when the expression is, or is part of, a package variable.
func (c *stateChecker) changed(target ast.Expr) {
	switch target := target.(type) {
	case *ast.Ident:
		if variable, ok := c.uses[target].(*types.Var); ok && c.pkg != nil && variable.Parent() == c.pkg.Scope() {
			c.complain(target, "package variable %s changes, or its address is taken", target.Name)
		}
	case *ast.SelectorExpr:
		if name, ok := target.X.(*ast.Ident); ok {
			if _, foreign := c.uses[name].(*types.PkgName); foreign {
				c.complain(target, "%s of another package changes, or its address is taken", types.ExprString(target))
				return
			}
		}
		c.changed(target.X)
	case *ast.IndexExpr:
		c.changed(target.X)
	case *ast.StarExpr:
		c.changed(target.X)
	case *ast.ParenExpr:
		c.changed(target.X)
	case *ast.SliceExpr:
		c.changed(target.X)
	}
}

// mutable reports whether a type is there to change: a channel, or something of sync and sync/atomic.
func mutable(expression ast.Expr) bool {
	switch expression := expression.(type) {
	case *ast.ChanType:
		return true
	case *ast.StarExpr:
		return mutable(expression.X)
	case *ast.ArrayType:
		return mutable(expression.Elt)
	case *ast.IndexExpr:
		return mutable(expression.X)
	case *ast.SelectorExpr:
		name := types.ExprString(expression)
		return strings.HasPrefix(name, "sync.") || strings.HasPrefix(name, "atomic.")
	}
	return false
}

// embedded reports whether a comment puts a file of the build into a variable.
func embedded(comment *ast.CommentGroup) bool {
	if comment == nil {
		return false
	}
	return slices.ContainsFunc(comment.List, func(line *ast.Comment) bool {
		return strings.HasPrefix(line.Text, "//go:embed ")
	})
}

func TestStateIsFound(t *testing.T) {
	tests := []struct{ name, code, says string }{
		{"sentinel", `var ErrGone = errors.New("gone")`, ""},
		{"table", `var table = map[string]int{"a": 1}; func get(k string) int { return table[k] }`, ""},
		{"local of the same name", `var table = []int{1}; func f() { table := []int{}; table[0] = 1 }`, ""},
		{"guard", `var _ error = (*fault)(nil)`, ""},
		{"conversion", `type bits uint8; var all = bits(7)`, ""},
		{"embed", "//go:embed x\nvar page string", ""},
		{"init", `func init() {}`, "init function"},
		{"no value", `var level int`, "begins without a value"},
		{"mutex", `var mu = sync.Mutex{}`, "made to change"},
		{"pool", `var buffers = &sync.Pool{}`, "made to change"},
		{"atomic", `var n = [2]atomic.Int64{}`, "made to change"},
		{"make", `var cache = make(map[string]int)`, "result of make"},
		{"registry", `var registry = prometheus.NewRegistry()`, "result of prometheus.NewRegistry"},
		{"assigned", `var level = 1; func set() { level = 2 }`, "level changes"},
		{"entry assigned", `var table = map[string]int{}; func set() { table["a"] = 2 }`, "table changes"},
		{"counted", `var n = 0; func next() { n++ }`, "n changes"},
		{"deleted", `var table = map[string]int{}; func drop() { delete(table, "a") }`, "table changes"},
		{"address", `var n = 0; func get() *int { return &n }`, "address is taken"},
		{"field", `var o = struct{ n int }{}; func set() { o.n = 1 }`, "o changes"},
		{"another package", `import "net/http"; func set() { http.DefaultMaxIdleConnsPerHost = 1 }`, "another package"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, "x.go", "package x\n"+test.code,
				parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			complaints := strings.Join(state(fset, []*ast.File{file}), "\n")
			if (test.says == "") != (complaints == "") || !strings.Contains(complaints, test.says) {
				t.Errorf("want %q, got %q", test.says, complaints)
			}
		})
	}
}
