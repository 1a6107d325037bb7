// Common steps of scenarios.

import { renameSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { join } from 'node:path';

/** views are all tabs with the titles of their views. */
export const views = { overview: 'disabled', problems: 'Problems', routers: 'Routers', services: 'Services', middlewares: 'Middlewares', endpoints: 'Endpoints', certificates: 'Certificates', changes: 'Changes', requests: 'Live requests', explain: 'Explain a request' };

/** places are addresses of each kind of view. */
export const places = ['#/', '#/problems', '#/routers', '#/routers/shop%40file', '#/routers/broken%40file', '#/services', '#/services/shop%40file', '#/middlewares', '#/middlewares/rate%40file', '#/endpoints', '#/certificates', '#/changes', '#/changes/2', '#/requests', '#/unmatched', '#/explain?method=GET&url=http%3A%2F%2Fshop.example.com%2Fapi&entrypoint=web'];

/** traffic sends requests until stop is called; hosts are host/path. */
export function traffic(environment, hosts, { parallel = 4, pause = 5 } = {}) {
  const target = new URL(environment.TRAFFIC);
  const agent = new Agent({ keepAlive: true, maxSockets: parallel });
  let going = true;
  let sent = 0;
  const one = () => new Promise((resolve) => {
    const [host, ...path] = hosts[sent++ % hosts.length].split('/');
    get({ host: target.hostname, port: target.port, path: `/${path.join('/')}`, headers: { host }, agent }, (response) => {
      response.resume();
      response.on('close', resolve);
    }).on('error', resolve);
  });
  const worker = async () => {
    while (going) {
      await one();
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  };
  const workers = Array.from({ length: parallel }, worker);
  return async () => {
    going = false;
    await Promise.all(workers);
    agent.destroy();
  };
}

/** write replaces a dynamic file by a rename. */
export function write(environment, name, text) {
  const draft = join(environment.DYNAMIC, '..', `draft-${name}`);
  writeFileSync(draft, text);
  renameSync(draft, join(environment.DYNAMIC, name));
}
