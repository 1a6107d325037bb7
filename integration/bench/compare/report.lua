-- Adds to wrk's output one line that is made to be read by a program. Times are microseconds.
function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    "bench requests=%d bytes=%d duration=%d p50=%d p99=%d p99.9=%d connect=%d read=%d write=%d status=%d timeout=%d\n",
    summary.requests, summary.bytes, summary.duration,
    latency:percentile(50), latency:percentile(99), latency:percentile(99.9),
    e.connect, e.read, e.write, e.status, e.timeout))
end
