package datagram

// Network is what counts as one client.
var Network = network
