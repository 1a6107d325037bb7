package forwarded

// PlainIPv4 parses the usual form of a peer.
var PlainIPv4 = plainIPv4
