package replay_test

import (
	"fmt"
	"io"
	"strings"

	"github.com/sluiceproxy/sluice/httpio/replay"
)

func Example() {
	var body replay.Body
	body.Init(strings.NewReader("the client's body"), -1, 64<<10, new(replay.Memory))
	defer body.Release()

	// The first attempt fails when it has read a part of the body.
	var first replay.Reader
	body.Open(&first)
	_, _ = io.CopyN(io.Discard, &first, 10)
	_ = first.Close()

	if !body.HandOver() {
		fmt.Println("more was read than is buffered")
		return
	}
	var second replay.Reader
	body.Open(&second)
	text, err := io.ReadAll(&second)
	fmt.Printf("%q %v\n", text, err)
	// Output: "the client's body" <nil>
}
