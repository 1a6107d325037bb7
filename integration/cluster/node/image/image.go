package image

import (
	"context"
	"fmt"
	"io"
	"net"
	"path"
	"strings"
	"sync"
)

// Names of the images.
const (
	echoBasic = "echo-basic"
	coreDNS   = "coredns"
)

// Container is what a program sees of its container.
type Container struct {
	// Image is the image's reference.
	Image string
	// Hosts are the pod's IP addresses.
	Hosts []string
	// Env is the environment.
	Env map[string]string
	// Files are the files of all volumes by their absolute path.
	Files map[string][]byte
	// Log receives the standard output.
	Log io.Writer
}

// Known reports whether the package has the program of an image, given by its reference.
func Known(reference string) bool {
	switch name(reference) {
	case echoBasic, coreDNS:
		return true
	}
	return false
}

// name returns the last part of a reference's path, without tag and digest.
func name(reference string) string {
	base := path.Base(reference)
	base, _, _ = strings.Cut(base, "@")
	base, _, _ = strings.Cut(base, ":")
	return base
}

// program is a listening server.
type program interface {
	// finish completes what has begun, until ctx ends.
	finish(ctx context.Context)
	// kill closes everything, and returns when nothing is served any more.
	kill()
}

// Server is a running container.
type Server struct {
	programs []program
	dead     chan struct{}
	killing  sync.Once
}

// Start runs the program of a container. It returns when the program listens, or with an error if a file is missing or
// invalid, or a port is not free.
func Start(c Container) (*Server, error) {
	starter := startEcho
	switch name(c.Image) {
	case echoBasic:
		switch {
		case c.Env["GRPC_ECHO_SERVER"] != "":
			starter = startGRPC
		case c.Env["TCP_ECHO_SERVER"] != "":
			starter = startTCP
		case c.Env["UDP_ECHO_SERVER"] != "":
			starter = startUDP
		}
	case coreDNS:
		starter = startDNS
	default:
		return nil, fmt.Errorf("image %s: unknown", c.Image)
	}
	s := &Server{dead: make(chan struct{})}
	for _, host := range c.Hosts {
		started, err := starter(c, host)
		s.programs = append(s.programs, started...)
		if err != nil {
			s.Kill()
			return nil, fmt.Errorf("image %s: %w", c.Image, err)
		}
	}
	return s, nil
}

// Finish stops listening, completes requests until ctx ends, and ends.
func (s *Server) Finish(ctx context.Context) {
	var running sync.WaitGroup
	for _, one := range s.programs {
		running.Go(func() { one.finish(ctx) })
	}
	running.Wait()
	s.Kill()
}

// Kill ends the program at once.
func (s *Server) Kill() {
	s.killing.Do(func() { close(s.dead) })
	for _, one := range s.programs {
		one.kill()
	}
}

// Ended is closed when the program has ended.
func (s *Server) Ended() <-chan struct{} { return s.dead }

// env returns a variable of the environment, or the fallback if it is not set or empty.
func (c Container) env(name, fallback string) string {
	if value := c.Env[name]; value != "" {
		return value
	}
	return fallback
}

// file returns the file whose path is the value of a variable.
func (c Container) file(variable string) ([]byte, error) {
	content, ok := c.Files[c.Env[variable]]
	if !ok {
		return nil, fmt.Errorf("%s: no file %q", variable, c.Env[variable])
	}
	return content, nil
}

// printf writes to the log.
func (c Container) printf(format string, args ...any) { _, _ = fmt.Fprintf(c.Log, format, args...) }

// identity is the part of an answer that names the container it comes from.
type identity struct {
	Namespace string `json:"namespace"`
	Ingress   string `json:"ingress"`
	Service   string `json:"service"`
	Pod       string `json:"pod"`
}

func (c Container) identity() identity {
	return identity{
		Namespace: c.Env["NAMESPACE"], Ingress: c.Env["INGRESS_NAME"], Service: c.Env["SERVICE_NAME"],
		Pod: c.Env["POD_NAME"],
	}
}

// listen listens for TCP on a port of one of the hosts.
func listen(host, port string) (net.Listener, error) {
	return new(net.ListenConfig).Listen(context.Background(), "tcp", net.JoinHostPort(host, port))
}

// listenPacket listens for UDP.
func listenPacket(host, port string) (net.PacketConn, error) {
	return new(net.ListenConfig).ListenPacket(context.Background(), "udp", net.JoinHostPort(host, port))
}
