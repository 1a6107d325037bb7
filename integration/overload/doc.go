// Package overload has more offered to Sluice than it, its endpoints or its memory can take.
//
// TEST_OVERLOAD is how long more requests are offered than the endpoint serves: six seconds by default. From a minute
// on the latency of important requests is judged too, which needs a machine that does nothing else. TEST_PEERS has
// nginx and haproxy get the same load, and Traefik that of BenchmarkProcessor, in which the CPU of the proxy is short.
package overload
