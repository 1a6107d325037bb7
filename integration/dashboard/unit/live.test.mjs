import assert from 'node:assert/strict';
import { test } from 'node:test';

/** A browser with one page, as far as the stream of events needs one. */
const page = Object.assign(new EventTarget(), { hidden: false, baseURI: 'http://sluice.test/dashboard/' });
const browser = new EventTarget();
const streams = [];

class Stream extends EventTarget {
  static CLOSED = 2;

  constructor() {
    super();
    this.readyState = 1;
    streams.push(this);
  }

  close() {
    this.readyState = Stream.CLOSED;
  }

  say(type, data) {
    this.dispatchEvent(Object.assign(new Event(type), { data: JSON.stringify(data) }));
  }
}

Object.assign(globalThis, {
  document: page, EventSource: Stream, fetch: () => new Promise(() => {}),
  addEventListener: browser.addEventListener.bind(browser), dispatchEvent: browser.dispatchEvent.bind(browser),
});
const { live } = await import('../../../api/dashboard/static/lib/live.js');

const open = () => streams.filter((stream) => stream.readyState !== Stream.CLOSED);

function look(seen) {
  page.hidden = !seen;
  page.dispatchEvent(new Event('visibilitychange'));
}

test('a page that nobody sees gives its connection back', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let anew = 0;
  browser.addEventListener('hashchange', () => anew++);
  live.start();
  assert.equal(open().length, 1);
  streams[0].say('hello', { generation: 3, ready: true });
  streams[0].say('generation', { generation: 4 });
  assert.equal(anew, 0, 'the first stream has missed nothing');

  look(false);
  t.mock.timers.tick(9000);
  look(true);
  t.mock.timers.tick(60000);
  assert.equal(streams.length, 1, 'a short look at another tab costs nothing');

  look(false);
  t.mock.timers.tick(10000);
  assert.equal(open().length, 0);
  browser.dispatchEvent(new Event('online'));
  t.mock.timers.tick(60000);
  assert.equal(open().length, 0, 'nobody looks yet');

  look(true);
  t.mock.timers.tick(0);
  assert.equal(open().length, 1);
  open()[0].say('hello', { generation: 4, ready: true });
  assert.equal(anew, 0, 'nothing was missed');

  look(false);
  t.mock.timers.tick(10000);
  look(true);
  t.mock.timers.tick(0);
  open()[0].say('hello', { generation: 6, ready: true });
  assert.equal(anew, 1, 'what was missed is asked for');
  open()[0].say('hello', { generation: 9, ready: true });
  assert.equal(anew, 1, 'a stream that goes on tells everything itself');
  open()[0].say('hello', { generation: 1, ready: true });
  assert.equal(anew, 2, 'after another start nothing is as it was');
  assert.equal(open().length, 1);
  look(false);
});
