package protocol

// chain is one of each middleware that can leave a request and its response alone, each with something to look at. The
// path gets a prefix and loses it; the trace that this leaves in a header is removed. Those that must keep a body back
// (buffering) are not there, nor those that answer in the service's place.
const chain = `
    everything:
      chain:
        middlewares:
          [timeout, faults, bearable, limit, flight, size, web, characters, gzip, type, breaker, pages, prefixed,
           stripped, stripped-regex, replaced, redirected, fields, denied, either, rate, origins, rewritten, set,
           moved, crumbs, again]
    timeout: {timeout: {request: 5m, responseHeader: 5m, idle: 5m}}
    faults: {fault: {headers: {X-Never: ""}, delay: {duration: 1h}, abort: {}, reset: {percentage: 50}}}
    bearable: {adaptiveConcurrency: {min: 1000000, max: 1000000}}
    limit: {rateLimit: {average: 1000000, burst: 1000000}}
    flight: {inFlightReq: {amount: 1000000}}
    size: {bodyLimit: {maxRequestBodyBytes: 1000000000}}
    web: {grpcWeb: {allowOrigins: ["https://app.test"]}}
    characters:
      encodedCharacters:
        allowEncodedSlash: true
        allowEncodedBackSlash: true
        allowEncodedNullCharacter: true
        allowEncodedSemicolon: true
        allowEncodedPercent: true
        allowEncodedQuestionMark: true
        allowEncodedHash: true
    gzip: {compress: {}}
    type: {contentType: {}}
    breaker: {circuitBreaker: {expression: "NetworkErrorRatio() > 1 || ResponseCodeRatio(500, 600, 0, 600) > 1 || LatencyAtQuantileMS(50.0) > 1000000"}}
    pages: {errors: {status: ["598"], service: h1, query: "/page"}}
    prefixed: {addPrefix: {prefix: /pre%2Ffix}}
    stripped: {stripPrefix: {prefixes: [/pre%2Ffix]}}
    stripped-regex: {stripPrefixRegex: {regex: ["/never/[0-9]+"]}}
    replaced: {replacePathRegex: {regex: "^/never/(.*)$", replacement: "/ever/$1"}}
    redirected: {redirectRegex: {regex: "^https?://never[.]test/", replacement: "https://ever.test/"}}
    fields: {headers: {customRequestHeaders: {X-Forwarded-Prefix: "", X-Never: ""},
      customResponseHeaders: {X-Never: ""}, accessControlAllowOriginList: ["https://app.test"]}}
    denied: {ipDenyList: {sourceRange: ["192.0.2.0/24"]}}
    either: {satisfyAny: {middlewares: [elsewhere, everywhere]}}
    elsewhere: {ipAllowList: {sourceRange: ["192.0.2.0/24"]}}
    everywhere: {ipAllowList: {sourceRange: ["0.0.0.0/0", "::/0"]}}
    rate: {bandwidthLimit: {bytesPerSecond: 1000000000000}}
    origins: {nginxCORS: {allowOrigins: ["https://app.test"]}}
    rewritten: {regexRewrite: {regex: "^/never/(.*)$", replacement: "/ever/$1"}}
    set: {proxySetHeader: {headers: [{name: X-Never, value: "$arg_never"}]}}
    moved: {proxyRedirect: {rewrites: [{from: "http://never.test/", to: "https://ever.test/"}]}}
    crumbs: {proxyCookie: {domain: [{from: never.test, to: ever.test}], path: [{from: /never/, to: /ever/}]}}
    again: {retry: {attempts: 2, disableRetryOnNetworkError: true, status: ["598"]}}
`
