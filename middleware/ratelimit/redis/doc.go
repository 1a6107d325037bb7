// Package redis holds rate limits in Redis, so that any number of processes hold one limit together.
//
// For the key of a request's source it returns whether the request may pass and after which wait, or an error, after
// which the caller decides alone. No request waits for a Redis that is known to be unreachable. Passwords and sources,
// which may be secret, are never logged.
//
// # The bucket
//
// Each source has a bucket of tokens under one key, which one script takes from: it reads, computes and writes, and
// Redis runs nothing else meanwhile. The clock is that of the Redis server (TIME), so that processes whose clocks
// differ hold one limit; when it is set back, buckets get nothing for the time until then, and when it jumps ahead,
// they are full at most. Tokens are kept with all digits, so rates of any size are exact. A key ends one second after
// its bucket would be full, since no bucket is a full one.
//
// A key is named after the middleware, its average, period and burst, and the source: a changed rate begins with full
// buckets, and meanwhile old and new processes count apart. Middlewares of one name in two installations count
// together when they share a Redis and its database. Sources that are addresses are readable in the key; all others
// are hashed, since what a header holds may be a credential, and to bound the length.
//
// Redis 5 or newer is needed. A user of Redis needs the commands EVALSHA, EVAL, GET, SET and TIME on keys that begin
// with "sluice:ratelimit:" (+eval +evalsha +get +set +time ~sluice:ratelimit:*), and CLUSTER and COMMAND where
// several endpoints are listed, which are those of a Redis Cluster. Each script uses one key, which it declares.
//
// # When Redis fails
//
// A circuit breaker bounds what a lost Redis costs. No request waits longer than 300 ms (or readTimeout, writeTimeout
// and dialTimeout, where they are shorter).
//
//   - The circuit opens with the first request that Redis fails: by a connection that is refused or breaks, by no
//     answer within that time, by an error of Redis or its script (AUTH, NOPERM, READONLY, OOM, LOADING, WRONGTYPE, a
//     cluster that is down). That request and those that are waiting get an error, and all connections are closed.
//   - While it is open, every request gets [ErrLost] at once. Once a second, in the background, one new connection
//     takes nothing from the bucket whose request failed; dialTimeout, readTimeout and writeTimeout bound that, and 15
//     s in all. The circuit closes once that worked, and an answer took less than 300 ms.
//   - The log has one line when it opens, with the reason, and one when it closes. All middlewares with the same
//     options share the connections and the circuit.
//   - A request that found all connections taken for 200 ms gets [ErrBusy]. Neither that nor a client that leaves, or a
//     deadline of the request that is over earlier, opens the circuit.
//   - Redis that comes back empty has full buckets: sources may burst once more.
//   - Closing a [Limiter] or the [Clients] ends what is under way with [ErrClosed].
package redis
