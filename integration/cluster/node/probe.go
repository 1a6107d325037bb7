package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// probe checks a container until ctx ends, and calls changed when the result, which is initial at first, has changed.
// failed gets each failure.
func probe(ctx context.Context, p *corev1.Probe, initial bool, check func(context.Context) error,
	changed func(bool), failed func(error),
) {
	timer := time.NewTimer(time.Duration(p.InitialDelaySeconds) * time.Second)
	defer timer.Stop()
	result, row, threshold := initial, int32(0), p.FailureThreshold
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		err := attempt(ctx, p, check)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			failed(err)
		}
		if good := err == nil; good == result {
			row = 0
		} else if row, threshold = row+1, p.FailureThreshold; good {
			threshold = p.SuccessThreshold
		}
		if row >= threshold {
			result, row = !result, 0
			changed(result)
		}
		timer.Reset(time.Duration(p.PeriodSeconds) * time.Second)
	}
}

// attempt checks once.
func attempt(ctx context.Context, p *corev1.Probe, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(p.TimeoutSeconds)*time.Second)
	defer cancel()
	return check(ctx)
}

// check returns what checks a container by a probe.
func (c *container) check(p *corev1.Probe) (func(context.Context) error, error) {
	switch {
	case p.Exec != nil:
		return func(ctx context.Context) error { return c.execute(ctx, p.Exec.Command) }, nil
	case p.HTTPGet != nil && p.HTTPGet.Scheme == corev1.URISchemeHTTP:
		port, err := c.port(p.HTTPGet.Port)
		if err != nil {
			return nil, err
		}
		host := p.HTTPGet.Host
		if host == "" {
			host = c.host.address.String()
		}
		url := "http://" + net.JoinHostPort(host, strconv.Itoa(port)) + p.HTTPGet.Path
		return func(ctx context.Context) error { return c.request(ctx, url) }, nil
	}
	return nil, errors.New("only the probes exec and httpGet without TLS are supported")
}

// port returns the number of a port of the container.
func (c *container) port(of intstr.IntOrString) (int, error) {
	if of.Type == intstr.Int {
		return of.IntValue(), nil
	}
	for _, one := range c.spec.Ports {
		if one.Name == of.StrVal {
			return int(one.ContainerPort), nil
		}
	}
	return 0, fmt.Errorf("there is no port %s", of.StrVal)
}

// execute runs a command in the container.
func (c *container) execute(ctx context.Context, command []string) error {
	arguments := []string{
		"--target", strconv.Itoa(c.command.Process.Pid), "--mount", "--pid", "--net", "--root", "--wd", "--",
	}
	inside := exec.CommandContext(ctx, "nsenter", append(arguments, command...)...)
	inside.Env, inside.WaitDelay = c.env, time.Second
	if output, err := inside.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, output)
	}
	return nil
}

// request sends a request from the host.
func (c *container) request(ctx context.Context, url string) error {
	transport := &http.Transport{DialContext: c.host.dial, DisableKeepAlives: true}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode < http.StatusOK || response.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	return nil
}
