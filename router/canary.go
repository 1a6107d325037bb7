package router

import (
	"fmt"

	"github.com/sluiceproxy/sluice/dynamic"
	"github.com/sluiceproxy/sluice/router/service"
)

// canary compiles a service that sends a part of the requests to a second one.
func (c *Compiler) canary(node *serviceNode, config *dynamic.Canary) error {
	options := service.CanaryOptions{Config: config}
	if config.Sticky != nil && config.Sticky.Cookie != nil {
		var err error
		if options.Cookie, err = branchCookie(node.name, config.Sticky.Cookie); err != nil {
			return fmt.Errorf("canary.%w", err)
		}
	}
	if err := c.adopt(node, "canary.service", branch{name: config.Service, role: roleMain}); err != nil {
		return err
	}
	if err := c.adopt(node, "canary.canary", branch{name: config.Canary, role: roleCanary}); err != nil {
		return err
	}
	if options.Cookie.Name() != "" {
		node.stick("canary", keyOf(&options.Cookie, config.Sticky.Cookie))
	}
	for _, key := range node.children[0].node.cookies {
		options.MainCookies = append(options.MainCookies, key.name)
	}
	options.Main, options.Canary = node.children[0].child(), node.children[1].child()
	handler, err := service.NewCanary(options)
	if err != nil {
		return err
	}
	node.serve(handler)
	return nil
}
