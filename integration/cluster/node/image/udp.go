package image

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"sync"
)

// maxDatagram is the size of the largest payload in bytes.
const maxDatagram = 65507

// udpDescription is the answer to a datagram.
type udpDescription struct {
	Request string `json:"request"`
	identity
}

// startUDP starts a server on UDP_PORT (8080).
func startUDP(c Container, host string) ([]program, error) {
	pod := c.identity()
	return servePackets(host, c.env("UDP_PORT", "8080"), func(payload []byte, from net.Addr) []byte {
		c.printf("Received UDP %s from %s\n", payload, from)
		answer, err := json.Marshal(udpDescription{string(payload), pod})
		if err != nil {
			return nil
		}
		return answer
	})
}

// udpServer is a running UDP server.
type udpServer struct {
	socket  net.PacketConn
	serving sync.WaitGroup
}

// servePackets answers each datagram, unless the answer is nil.
func servePackets(host, port string, answer func(payload []byte, from net.Addr) []byte) ([]program, error) {
	socket, err := listenPacket(host, port)
	if err != nil {
		return nil, err
	}
	s := &udpServer{socket: socket}
	s.serving.Go(func() {
		buffer := make([]byte, maxDatagram)
		for {
			n, from, err := socket.ReadFrom(buffer)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				continue // an ICMP error of an earlier answer
			}
			if text := answer(buffer[:n], from); text != nil {
				_, _ = socket.WriteTo(text, from)
			}
		}
	})
	return []program{s}, nil
}

func (s *udpServer) finish(context.Context) { s.kill() } // Every datagram is answered at once.

func (s *udpServer) kill() {
	_ = s.socket.Close()
	s.serving.Wait()
}
