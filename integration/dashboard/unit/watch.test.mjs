import assert from 'node:assert/strict';
import { test } from 'node:test';

const streams = [];

class Stream extends EventTarget {
  static CLOSED = 2;

  constructor(url) {
    super();
    Object.assign(this, { url, readyState: 0 });
    streams.push(this);
  }

  close() {
    this.readyState = Stream.CLOSED;
  }

  refuse() {
    this.close();
    this.dispatchEvent(new Event('error'));
  }

  say(type, data) {
    this.dispatchEvent(Object.assign(new Event(type), { data: JSON.stringify(data) }));
  }
}

/** asked are the signals of the requests for a reason; answer makes their response. */
const asked = [];
let answer;
Object.assign(globalThis, {
  document: { baseURI: 'http://sluice.test/dashboard/' }, EventSource: Stream,
  fetch: async (_, { signal }) => {
    asked.push(signal);
    return answer();
  },
});
const { watch } = await import('../../../api/dashboard/static/lib/watch.js');

const full = () => Response.json({ message: 'the limit of 8 viewers is reached' }, { status: 503 });
const endless = () => new Response(new ReadableStream({}), { headers: { 'Content-Type': 'text/event-stream' } });
const settled = () => new Promise(setImmediate);

/** begin opens a stream and returns what its handlers heard. */
function begin(t) {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const leaving = new AbortController();
  const heard = [];
  const note = (name) => (value) => heard.push([name, value]);
  streams.length = asked.length = 0;
  watch({ status: '5xx' }, { hello: note('hello'), request: note('request'), lost: note('lost'), broken: note('broken'), refused: (why) => heard.push(['refused', why.message]) }, leaving.signal);
  return { heard, leaving };
}

test('a stream that is refused is opened again later', async (t) => {
  const { heard, leaving } = begin(t);
  answer = full;
  streams[0].refuse();
  await settled();
  assert.deepEqual(heard, [['refused', 'The limit of 8 viewers is reached.']]);
  t.mock.timers.tick(4000);
  assert.equal(streams.length, 1);
  t.mock.timers.tick(1000);
  assert.equal(streams.length, 2);
  assert.equal(streams[1].url.search, '?status=5xx');
  streams[1].say('hello', {});
  streams[1].say('request', { RequestPath: '/' });
  streams[1].say('lost', { requests: 3 });
  assert.deepEqual(heard.slice(1), [['hello', undefined], ['request', { RequestPath: '/' }], ['lost', 3]]);
  leaving.abort();
  assert.equal(streams[1].readyState, Stream.CLOSED);
});

test('the request for the reason holds no stream', async (t) => {
  const { heard } = begin(t);
  answer = endless;
  streams[0].refuse();
  await settled();
  assert.ok(asked[0].aborted, 'the stream that was opened to learn the reason is still open');
  t.mock.timers.tick(1000);
  assert.equal(streams.length, 2);
  assert.deepEqual(heard, []);
});

test('a stream that is refused for good is not opened again', async (t) => {
  const { heard } = begin(t);
  answer = () => Response.json({ message: 'query: no status' }, { status: 400 });
  streams[0].refuse();
  await settled();
  t.mock.timers.tick(60000);
  assert.equal(streams.length, 1);
  assert.deepEqual(heard, [['refused', 'Query: no status.']]);
});

test('a view that is left opens no stream', async (t) => {
  const { heard, leaving } = begin(t);
  answer = full;
  streams[0].refuse();
  leaving.abort();
  await settled();
  t.mock.timers.tick(60000);
  assert.equal(streams.length, 1);
  assert.deepEqual(heard, []);
});
