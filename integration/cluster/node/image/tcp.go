package image

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// welcome is the line that each TCP connection begins with.
const welcome = "Gateway API Test TCP Server\n"

// tcpDescription is the answer to TEST.
type tcpDescription struct {
	identity
	TCPPort string        `json:"tcpport"`
	TLSPort string        `json:"tlsport,omitempty"`
	IsTLS   bool          `json:"isTLS"`
	TLS     *tcpHandshake `json:"tls,omitempty"`
}

// tcpHandshake describes a TLS connection.
type tcpHandshake struct {
	Version            string `json:"version"`
	ServerName         string `json:"serverName"`
	NegotiatedProtocol string `json:"negotiatedProtocol,omitempty"`
	Curves             string `json:"curves,omitempty"`
	CipherSuite        string `json:"cipherSuite"`
}

// startTCP starts servers on TCP_PORT (3000) and, with a certificate, with TLS on TLS_PORT (8443).
func startTCP(c Container, host string) ([]program, error) {
	ports := tcpDescription{identity: c.identity(), TCPPort: c.env("TCP_PORT", "3000"), TLSPort: c.env("TLS_PORT", "8443")}
	plain, err := serveTCP(c, host, ports.TCPPort, nil, ports)
	if err != nil {
		return nil, err
	}
	settings, err := c.settings("TLS_SERVER_CERT", "TLS_SERVER_PRIV_KEY")
	if err != nil || settings == nil {
		return []program{plain}, err
	}
	encrypted, err := serveTCP(c, host, ports.TLSPort, settings, ports)
	if err != nil {
		return []program{plain}, err
	}
	return []program{plain, encrypted}, nil
}

// tcpServer is a running TCP server.
type tcpServer struct {
	listener net.Listener
	settings *tls.Config
	ports    tcpDescription
	serving  sync.WaitGroup

	mutex  sync.Mutex
	open   map[net.Conn]bool
	killed bool
}

func serveTCP(c Container, host, port string, settings *tls.Config, ports tcpDescription) (*tcpServer, error) {
	listener, err := listen(host, port)
	if err != nil {
		return nil, err
	}
	s := &tcpServer{listener: listener, settings: settings, ports: ports, open: map[net.Conn]bool{}}
	s.serving.Go(func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			c.printf("Connection of %s\n", connection.RemoteAddr())
			if s.add(connection) {
				s.serving.Go(func() { s.serve(connection) })
			}
		}
	})
	return s, nil
}

// add registers a connection, unless the server is killed.
func (s *tcpServer) add(connection net.Conn) bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.killed {
		_ = connection.Close()
		return false
	}
	s.open[connection] = true
	return true
}

// serve answers the commands TEST, IS_TLS and PING, each a line.
func (s *tcpServer) serve(connection net.Conn) {
	defer func() {
		_ = connection.Close()
		s.mutex.Lock()
		defer s.mutex.Unlock()
		delete(s.open, connection)
	}()
	answer := s.ports
	if s.settings != nil {
		encrypted := tls.Server(connection, s.settings)
		if encrypted.HandshakeContext(context.Background()) != nil { // bounded by kill
			return
		}
		state := encrypted.ConnectionState()
		answer.IsTLS = true
		answer.TLS = &tcpHandshake{
			Version: tls.VersionName(state.Version), ServerName: state.ServerName,
			NegotiatedProtocol: state.NegotiatedProtocol, Curves: state.CurveID.String(),
			CipherSuite: tls.CipherSuiteName(state.CipherSuite),
		}
		connection = encrypted
	}
	if _, err := io.WriteString(connection, welcome); err != nil {
		return
	}
	for lines := bufio.NewScanner(connection); lines.Scan(); {
		switch lines.Text() {
		case "TEST":
			_ = json.NewEncoder(connection).Encode(answer) // A failed write fails the next read.
		case "IS_TLS":
			_, _ = fmt.Fprintln(connection, answer.IsTLS)
		case "PING":
			_, _ = fmt.Fprintln(connection, "PONG")
		}
	}
}

// finish waits until the clients have closed their connections.
func (s *tcpServer) finish(ctx context.Context) {
	_ = s.listener.Close()
	ended := context.AfterFunc(ctx, s.closeAll)
	defer ended()
	s.serving.Wait()
}

func (s *tcpServer) kill() {
	_ = s.listener.Close()
	s.closeAll()
	s.serving.Wait()
}

func (s *tcpServer) closeAll() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.killed = true
	for connection := range s.open {
		_ = connection.SetDeadline(time.Unix(1, 0)) // ends a handshake and a read
	}
}
