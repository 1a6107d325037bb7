// Calls gRPC services by xDS, as an application of Node.js does: node calls.mjs. Environment variables:
//   MODULES             folder with node_modules
//   GRPC_XDS_BOOTSTRAP  bootstrap file
//   TURN, MESSAGES      milliseconds between two calls or messages, messages of a stream
//   WORKERS             how many make unary calls to a service
// Commands on the standard input, one a line:
//   start SERVICE       begins calls to service.namespace
//   tally               prints the results so far as one line of JSON, as type scores of score_test.go
// Ends with the standard input.

import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

const require = createRequire(`${process.env.MODULES}/`);
const grpc = require('@grpc/grpc-js');
require('@grpc/grpc-js-xds').register();

const turn = Number(process.env.TURN);
const messages = Number(process.env.MESSAGES);
const patience = 15000;
const scores = {};
const nothing = Buffer.alloc(0);
const same = (bytes) => bytes;

/** text returns the only field of a message, which is a string: its tag and its length have one byte each. */
const text = (bytes) => bytes.subarray(2, 2 + bytes[1]).toString();

/** unary makes one call and returns the pod's name, which is SimpleResponse.server_id. */
function unary(client) {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest('/grpc.testing.TestService/UnaryCall', same, same, nothing, new grpc.Metadata(),
      { deadline: Date.now() + patience }, (error, answer) => (error ? reject(error) : resolve(text(answer))));
  });
}

/** stream exchanges some messages and returns the pod's name, which is StreamingOutputCallResponse.payload.body. */
function stream(client) {
  return new Promise((resolve, reject) => {
    let left = messages;
    let pod = '';
    const call = client.makeBidiStreamRequest('/grpc.testing.TestService/FullDuplexCall', same, same, new grpc.Metadata(),
      { deadline: Date.now() + patience });
    call.on('data', (answer) => {
      pod = text(answer.subarray(2));
      left -= 1;
      setTimeout(() => (left > 0 ? call.write(nothing) : call.end()), turn);
    });
    call.on('error', reject);
    call.on('status', (status) => status.code === grpc.status.OK && resolve(pod));
    call.write(nothing);
  });
}

/** run makes calls, one after the other, forever. */
async function run(name, call, client) {
  scores[name] ??= { sent: 0, failed: [], pods: {} };
  for (;;) {
    await sleep(turn);
    const score = scores[name];
    try {
      const pod = await call(client);
      score.pods[pod] = (score.pods[pod] ?? 0) + 1;
    } catch (error) {
      score.failed.push(error.message);
    }
    score.sent += 1;
  }
}

const commands = createInterface({ input: process.stdin });
commands.on('line', (line) => {
  const [command, service] = line.split(' ');
  if (command === 'tally') {
    console.log(JSON.stringify(scores));
    return;
  }
  const client = new grpc.Client(`xds:///${service}:80`, grpc.credentials.createInsecure());
  for (let i = 0; i < Number(process.env.WORKERS); i += 1) run(`${service} unary`, unary, client);
  run(`${service} stream`, stream, client);
});
commands.on('close', () => process.exit(0));
