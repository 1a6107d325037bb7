// TCP and UDP objects, and connections in the live tail.

import { audit } from './accessibility.mjs';

/** streams goes from the lists of HTTP to those of TCP and UDP, follows a router to its endpoints, and watches connections. */
export async function streams({ open, check, eventually, require }) {
  const page = await open({ place: '#/routers' });
  const protocols = page.locator('nav[aria-label="Protocol"]');
  const rows = page.locator('tbody tr');
  await protocols.locator('a', { hasText: 'TCP' }).click();
  await page.locator('main h1', { hasText: 'TCP routers' }).waitFor();
  check(await page.locator('nav[aria-label="Views"] a[aria-current]').innerText() === 'Routers', 'the tab of routers is not marked');
  await eventually('three TCP routers', async () => (await rows.count()) === 3);
  const row = (name) => rows.filter({ has: page.locator('a', { hasText: name }) });
  check(/db@file.*HostSNI\(`\*`\).*office.*db.*-1/s.test(await row('db@file').innerText()), `the row of db is ${await row('db@file').innerText()}`);
  check(/passthrough/.test(await row('mail@file').innerText()), 'the list does not say that TLS passes through');
  check(/tcpService "nowhere@file" does not exist/.test(await row('broken@file').innerText()), 'the list does not say why a router is disabled');
  await page.locator('.choices button', { hasText: 'Disabled' }).click();
  await eventually('the disabled router', async () => (await rows.count()) === 1);
  await page.locator('a', { hasText: 'broken@file' }).click();
  await page.locator('section[aria-label="Findings"]', { hasText: 'connections that match its rule are closed' }).waitFor();

  await page.evaluate(() => { location.hash = '#/routers-tcp/db%40file'; });
  const column = (title) => page.locator(`.route .column[aria-label="${title}"]`);
  await page.locator('main h1', { hasText: 'db@file' }).waitFor();
  check((await column('Middlewares').innerText()).includes('ipallowlist'), `the middleware is ${await column('Middlewares').innerText()}`);
  await eventually('the endpoints', async () => (await column('Endpoints').locator('.station').count()) === 2);
  await eventually('connections a second', async () => /[1-9][\d.]* conn\/s/.test(await column('Endpoints').innerText()));
  await eventually('the endpoint that cannot be reached', async () => /ejected|unreachable/.test(await column('Endpoints').locator('.station.bad').innerText()));
  check((await page.locator('section[aria-label="Traffic"]').count()) === 0, 'a TCP router shows the traffic of requests');
  await column('Service').locator('a', { hasText: 'db@file' }).click();
  await page.waitForURL(/#\/services-tcp\/db%40file$/);
  await page.locator('section[aria-label="Used by"] a', { hasText: 'db@file' }).waitFor();
  await page.locator('main a', { hasText: 'Endpoints' }).click();
  await page.locator('.filters .chip', { hasText: 'of TCP db@file' }).waitFor();
  await eventually('the endpoints of the TCP service', async () => (await rows.filter({ has: page.locator('.chip', { hasText: 'TCP' }) }).count()) >= 2);

  await page.evaluate(() => { location.hash = '#/services-udp'; });
  await page.locator('main h1', { hasText: 'UDP services' }).waitFor();
  await eventually('the UDP service', async () => (await rows.innerText()).includes('dns@file'));
  await page.evaluate(() => { location.hash = '#/'; });
  await page.locator('section[aria-label="Objects"] tr', { hasText: 'TCP routers' }).waitFor();
  await page.locator('section[aria-label="Problems"] li', { hasText: 'TCP router' }).first().waitFor();
  await page.keyboard.press('Control+k');
  await page.keyboard.type('mail');
  await eventually('the router that is searched', async () => /TCP router.*mail@file/s.test(await page.locator('dialog[open] li').first().innerText()));
  await page.keyboard.press('Enter');
  await page.locator('main h1', { hasText: 'mail@file' }).waitFor();
  check((await column('Entry points').innerText()).includes('TLS passes through'), 'the diagram does not say that TLS passes through');

  await page.evaluate(() => { location.hash = '#/requests?protocol=tcp'; });
  await page.locator('main h1', { hasText: 'Live requests' }).waitFor();
  await eventually('connections', async () => (await rows.count()) > 2);
  const shown = (await rows.first().innerText()).replace(/\s+/g, ' ');
  check(/TCP 127\.0\.0\.1:\d+ (client|server) (eof|reset) .* db@file/.test(shown), `a connection is shown as ${shown}`);
  await rows.first().locator('a', { hasText: 'db@file' }).click();
  await page.waitForURL(/#\/routers-tcp\/db%40file$/);

  await page.context().addInitScript(require('axe-core').source);
  await page.reload();
  for (const place of ['#/routers-tcp', '#/routers-tcp/db%40file', '#/services-tcp', '#/services-tcp/split%40file', '#/middlewares-tcp', '#/middlewares-tcp/office%40file', '#/routers-udp', '#/services-udp', '#/services-udp/dns%40file', '#/requests?protocol=tcp']) {
    await audit(page, place, 'light', { check, eventually });
  }
  await page.setViewportSize({ width: 390, height: 800 });
  for (const place of ['#/routers-tcp', '#/routers-tcp/db%40file', '#/services-tcp']) {
    await page.evaluate((hash) => { location.hash = hash; }, place);
    await page.waitForTimeout(400);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    check(wide <= 0, `${place} is ${wide} pixels too wide for a phone`);
  }
}
