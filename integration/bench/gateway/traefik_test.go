package gateway

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os/exec"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluiceproxy/sluice/integration/cluster"
)

// traefikAddress is where Traefik serves the routes of its Gateway.
const traefikAddress = "127.0.0.2"

// startTraefik starts Traefik with a Gateway of its own; stop ends it.
func (w *world) startTraefik(tb testing.TB) (s *subject, stop func()) {
	tb.Helper()
	const gateway = "traefik"
	log := &bytes.Buffer{}
	ctx, stop := context.WithCancel(tb.Context())
	command := exec.CommandContext(ctx, w.asked.traefik,
		"--log.level=ERROR", "--global.checknewversion=false",
		"--entrypoints.web.address="+net.JoinHostPort(traefikAddress, "80"),
		"--providers.kubernetesgateway.endpoint="+w.Endpoint,
		"--providers.kubernetesgateway.token="+w.Token,
		"--providers.kubernetesgateway.certauthfilepath="+w.CAFile,
		"--providers.kubernetesgateway.statusaddress.ip="+traefikAddress)
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		stop()
		_ = command.Wait() // It was killed.
		if tb.Failed() {
			tb.Logf("the log of Traefik:\n%.4000s", log)
		}
	})
	w.Apply(`{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: traefik},
		spec: {controllerName: traefik.io/gateway-controller}}`)
	w.Apply(fmt.Sprintf(`{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway,
		metadata: {namespace: %s, name: %s}, spec: {gatewayClassName: traefik,
		listeners: [{name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]}}`, home, gateway))
	w.Until("Gateway.gateway.networking.k8s.io", home+"/"+gateway, "programmed",
		func(object *unstructured.Unstructured) bool { return cluster.Condition(object, "Programmed") == "True" })
	return &subject{
		name: "Traefik", pid: command.Process.Pid, address: net.JoinHostPort(traefikAddress, "80"), gateway: gateway,
	}, stop
}
