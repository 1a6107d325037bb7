package stream

import "github.com/sluiceproxy/sluice/dynamic"

// ProxyHeader returns the PROXY header for a client.
func ProxyHeader(config *dynamic.ProxyProtocol, client *Client) []byte {
	return newProxyHeader(config).client(client)
}
