// The page of listeners, with the responses of api/testdata: a Gateway needs a cluster.

import { readFileSync } from 'node:fs';
import { audit } from './accessibility.mjs';

const golden = (name) => readFileSync(new URL(`../../../api/testdata/${name}.json`, import.meta.url), 'utf8');

/** declares reads what providers declare, where it is reached, and why one does not serve. */
export async function declares({ open, check, eventually, require }) {
  const page = await open({ place: '#/routers' });
  check(!(await page.locator('nav a', { hasText: 'Listeners' }).isVisible()), 'there is a tab of listeners, without a listener');
  await page.evaluate(() => { location.hash = '#/listeners'; });
  await page.locator('td.none', { hasText: 'No provider declares a listener.' }).waitFor();
  for (const [path, name] of [['**/api/listeners?*', 'listeners'], ['**/api/overview*', 'listeners-overview']]) {
    await page.context().route(path, (route) => route.fulfill({ contentType: 'application/json', headers: { 'X-Next-Page': '1', 'X-Total-Count': '2' }, body: golden(name) }));
  }
  await page.context().addInitScript(require('axe-core').source);
  await page.reload();
  await page.locator('nav a[aria-current]', { hasText: 'Listeners' }).waitFor();
  const text = async (name) => (await page.locator('tbody tr', { hasText: name }).innerText()).replace(/\s+/g, ' ');
  await page.locator('tbody tr', { hasText: 'gateway/shop/dns' }).waitFor();
  const dns = await text('gateway/shop/dns');
  for (const part of ['disabled', 'address already in use', 'UDP', '192.0.2.1:10053, port 53 for clients', 'any', 'dns@kubernetesgateway']) {
    check(dns.includes(part), `the listener dns does not show ${part}: ${dns}`);
  }
  const http = await text('gateway/shop/http');
  for (const part of ['enabled', 'HTTP', '192.0.2.1:80', '*.shop.test', 'gate@kubernetesgateway']) {
    check(http.includes(part), `the listener http does not show ${part}: ${http}`);
  }
  await audit(page, '#/listeners', 'listeners', { check, eventually });
  await page.locator('tbody a', { hasText: 'gateway/shop/http' }).click();
  await page.locator('main input[type="search"]').waitFor();
  check(page.url().includes('search=gateway'), `the link of a listener leads to ${page.url()}`);
  await page.keyboard.press('Escape');
  await page.evaluate(() => { location.hash = '#/'; });
  await page.locator('th a', { hasText: 'Listeners' }).waitFor();
  await page.evaluate(() => { location.hash = '#/explain'; });
  await page.locator('main h1', { hasText: 'Explain' }).waitFor();
  const offered = await page.locator('select[name="entrypoint"] option').allInnerTexts();
  check(offered.includes('gateway/shop/http@kubernetesgateway'), `explain does not offer the listener of HTTP: ${offered}`);
  check(!offered.includes('gateway/shop/dns@kubernetesgateway'), 'explain offers the listener of UDP');
}
