package document_test

import (
	"fmt"

	"github.com/sluiceproxy/sluice/document"
)

type server struct {
	URL    string   `json:"url"`
	Weight int      `json:"weight"`
	Tags   []string `json:"tags"`
}

// What is right is decoded; every mistake is reported with its line.
func ExampleDecode() {
	text := `url: http://192.0.2.1
wieght: 3
tags: blue, green
`
	root, err := document.Parse("server.yaml", []byte(text))
	if err != nil {
		fmt.Println(err)
		return
	}
	var s server
	for _, problem := range document.Decode(root, &s) {
		fmt.Printf("line %d: %s\n", problem.Line, problem)
	}
	fmt.Println(s.URL, s.Tags)
	// Output:
	// line 2: wieght: unknown option, did you mean "weight"?
	// http://192.0.2.1 [blue green]
}

// YAML and TOML become the same tree.
func ExampleParse() {
	for name, text := range map[string]string{"a.toml": "weight = 3", "a.yaml": "weight: 3"} {
		root, err := document.Parse(name, []byte(text))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(root.Get("weight").Value.Value)
	}
	// Output:
	// 3
	// 3
}

// An error names the file and the line, and shows no value.
func ExampleParse_error() {
	_, err := document.Parse("token.yaml", []byte("name: api\ntoken: *secret\n"))
	fmt.Println(err)
	// Output:
	// token.yaml:2: uses an alias that is not defined; a text that begins with * needs quotes around it
}

func ExampleNearest() {
	name, found := document.Nearest("loadbalancr", []string{"loadBalancer", "weighted", "mirroring"})
	fmt.Println(name, found)
	// Output:
	// loadBalancer true
}
