package router_test

import (
	"fmt"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/router"
)

func ExampleCheck() {
	builder := dynamic.NewBuilder(&dynamic.Configuration{})
	builder.Put(dynamic.Ref{Kind: dynamic.KindRouter, Name: "shop@file"}, &dynamic.Router{
		Rule: "Host(`shop.example.com`)", Service: "shp@file", EntryPoints: []string{"web"},
	})
	entryPoints := []router.EntryPoint{{Name: "web"}}
	for _, verdict := range router.Check(router.Options{EntryPoints: entryPoints}, builder.Configuration()) {
		fmt.Println(verdict.Ref, verdict.Code, verdict.Reason)
	}
	// Output: router "shop@file" MissingService service "shp@file" does not exist
}
