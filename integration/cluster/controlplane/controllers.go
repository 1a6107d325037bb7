package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
)

// controllers are those that the tests need. EndpointSliceMirroringController is left out, so that a Service may have
// only Endpoints, as in old clusters.
func controllers() []string {
	return []string{
		names.DeploymentController, names.ReplicaSetController, names.DaemonSetController, names.StatefulSetController,
		names.EndpointSliceController, names.EndpointsController,
		names.NamespaceController, names.GarbageCollectorController,
		names.ServiceAccountController, names.ServiceAccountTokenController, names.RootCACertificatePublisherController,
	}
}

// controllerFlags are the options of kube-controller-manager.
func controllerFlags(s settings) []string {
	return []string{
		"--kubeconfig=" + s.file(kubeconfigFile),
		"--root-ca-file=" + s.file(certificateFile),
		"--service-account-private-key-file=" + s.file(accountKeyFile),
		"--controllers=" + strings.Join(controllers(), ","),
		"--leader-elect=false",
		"--secure-port=0",
		"--kube-api-qps=2000",
		"--kube-api-burst=4000",
		"--profiling=false",
	}
}

// runControllers runs kube-controller-manager until ctx ends.
func runControllers(ctx context.Context, s settings) error {
	o, err := options.NewKubeControllerManagerOptions()
	if err != nil {
		return fmt.Errorf("kube-controller-manager: %w", err)
	}
	known, disabled, aliases := app.KnownControllers(), app.ControllersDisabledByDefault(), app.ControllerAliases()
	flags := pflag.NewFlagSet("kube-controller-manager", pflag.ContinueOnError)
	sets := o.Flags(known, disabled, aliases)
	for _, set := range sets.FlagSets {
		flags.AddFlagSet(set)
	}
	if err := flags.Parse(controllerFlags(s)); err != nil {
		return fmt.Errorf("kube-controller-manager: %w", err)
	}
	o.ParsedFlags = &sets
	config, err := o.Config(ctx, known, disabled, aliases)
	if err != nil {
		return fmt.Errorf("kube-controller-manager: %w", err)
	}
	if err := app.Run(ctx, config.Complete()); err != nil {
		return fmt.Errorf("kube-controller-manager: %w", err)
	}
	return nil
}
