// The certificates of resolvers.

import { audit } from './accessibility.mjs';
import { write } from './world.mjs';

/** obtains reads what resolvers have and fail to obtain, and follows the configuration. */
export async function obtains({ open, check, eventually, require, environment }) {
  const page = await open({ place: '#/certificates' });
  const part = page.locator('section[aria-label="Certificates of resolvers"]');
  const rows = async () => (await part.locator('tbody tr').allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim());
  await page.locator('main h1', { hasText: 'Certificates' }).waitFor();
  await eventually('the failure', async () => /^failing bad\.example\.com le failing rejectedIdentifier: <b>bad\.example\.com<\/b> is on a list none yet – [1-9]\d* (now|in \d+ (s|min)) bad@file$/.test((await rows())[0]));
  const [, valid, unused, ...others] = await rows();
  check(/^valid shop\.example\.com www\.shop\.example\.com le valid in 23 h .* – – shop@file$/.test(valid), `the valid certificate is ${valid}`);
  check(/^unused unused\.example\.com le unused in 23 h – – – none$/.test(unused), `the unused certificate is ${unused}`);
  check(!others.length, `there are others: ${others}`);
  const resolvers = (await page.locator('section[aria-label="Resolvers"] li').allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim());
  check(/^resolver broken It cannot be used: storage: .*acme\.json is damaged: it is not JSON/i.test(resolvers[0]) && /^resolver le 3 certificates, 1 failing$/i.test(resolvers[1]), `the resolvers are ${resolvers.join(' | ')}`);
  await eventually('the loaded certificates', async () => (await page.locator('main h2', { hasText: 'Loaded certificates' }).count()) === 1 && /shop\.example\.com/.test(await page.locator('main .table').last().innerText()));

  await page.locator('.choices button', { hasText: 'Valid' }).click();
  await eventually('the valid ones', async () => (await rows()).length === 1 && (await rows())[0].startsWith('valid'));
  await page.locator('.choices button', { hasText: 'All' }).click();
  await page.locator('input[aria-label="Search names and problems"]').fill('on a list');
  await eventually('the one with a problem', async () => (await rows()).length === 1 && (await rows())[0].startsWith('failing'));
  await page.locator('input[aria-label="Search names and problems"]').fill('nothing');
  await eventually('nothing', async () => (await rows()).join() === 'Nothing matches.');

  for (const [width, scheme] of [[1360, 'light'], [1360, 'dark'], [390, 'light']]) {
    const other = await open({ width, scheme });
    await other.context().addInitScript(require('axe-core').source);
    await other.reload();
    await audit(other, '#/certificates', `${width}, ${scheme}`, { check, eventually });
    const wide = await other.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    check(wide <= 0, `the page is ${wide} pixels too wide for ${width}`);
    if (environment.SHOTS) await other.screenshot({ path: `${environment.SHOTS}/certificates-${width}-${scheme}.png`, fullPage: true });
  }

  await page.locator('input[aria-label="Search names and problems"]').fill('');
  await eventually('all', async () => (await rows()).length === 3);
  write(environment, 'certificates.yaml', 'http: {}\n');
  await eventually('unused ones only', async () => (await rows()).length === 2 && (await rows()).every((text) => text.startsWith('unused')));
}
