// The stream of finished requests, which is opened again after the API refused it for a while.

import { address, refusal } from './api.js';

/** later is the pause after a refusal, soon the one after a refusal whose cause has gone; in milliseconds. */
const later = 5000;
const soon = 1000;

/** lasting reports whether a refusal does not end by itself, such as that of a wrong filter. */
const lasting = ({ status }) => status >= 400 && status < 500 && status !== 429;

/** watch opens the stream until the signal aborts. handlers are hello(), request(line), lost(number), broken() and refused(failure). */
export function watch(parameters, handlers, signal) {
  let source;
  let timer;
  const again = (wait) => {
    timer = setTimeout(open, wait);
  };
  // Browsers reconnect after a broken connection, but neither after a response such as 503, nor do they tell its reason.
  const closed = async () => {
    const why = await refusal('requests', { parameters, signal });
    if (signal.aborted) return;
    if (why) handlers.refused(why);
    if (!why || !lasting(why)) again(why ? later : soon);
  };
  function open() {
    const own = (source = new EventSource(address('requests', parameters)));
    own.addEventListener('hello', () => handlers.hello());
    own.addEventListener('request', (event) => handlers.request(JSON.parse(event.data)));
    own.addEventListener('lost', (event) => handlers.lost(JSON.parse(event.data).requests));
    own.addEventListener('error', () => {
      if (own.readyState === EventSource.CLOSED) closed();
      else handlers.broken();
    });
  }
  signal.addEventListener('abort', () => {
    clearTimeout(timer);
    source.close();
  });
  open();
}
