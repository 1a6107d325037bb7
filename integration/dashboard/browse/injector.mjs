// The page of the admission webhook.

import { audit } from './accessibility.mjs';
import { write } from './world.mjs';

/** injects reads what the webhook has done with pods, and why it refuses a configuration. */
export async function injects({ open, check, eventually, require, environment }) {
  const page = await open();
  const gauge = async (title) => (await page.locator('.gauge').filter({ has: page.locator('span', { hasText: new RegExp(`^${title}$`) }) }).locator('b').innerText()).trim();
  const part = (title) => page.locator(`section[aria-label="${title}"]`);
  await page.locator('nav a', { hasText: 'Injector' }).waitFor();
  await page.keyboard.press('g');
  await page.keyboard.press('i');
  await page.locator('main h1', { hasText: 'Injector' }).waitFor();
  await eventually('the counters', async () => [await gauge('Injected'), await gauge('Skipped'), await gauge('Failed'), await gauge('Refused requests')].join() === '1,3,1,1');

  const skipped = await part('Skipped pods').locator('tbody tr').allInnerTexts();
  check(/^shop\s+PolicyOff\s+2$/.test(skipped[0]?.trim()) && /^<b>orders<\/b>\s+HostNetwork\s+1$/.test(skipped[1]?.trim()) && skipped.length === 2, `the skipped pods are ${skipped}`);
  const certificates = await part('Certificates').innerText();
  check(/from files[^]*Webhook[^]*(h|min|d) left/.test(certificates) && !certificates.includes('Authority'), `the certificates are ${certificates}`);
  check((await part('State').innerText()).includes('Ready: reviews are answered.'), 'the webhook is not ready');
  check(/Read /.test(await part('Configuration').innerText()), 'the configuration is not read');

  write(environment, 'inject.conf', 'policy: sometimes\n');
  await eventually('the refused configuration', async () => /Refused[^]*policy/.test(await part('Configuration').innerText()));
  check((await part('State').innerText()).includes('Ready'), 'the last good configuration is not in use');

  for (const [width, scheme] of [[1360, 'light'], [1360, 'dark'], [390, 'light']]) {
    const other = await open({ width, scheme });
    await other.context().addInitScript(require('axe-core').source);
    await other.reload();
    await audit(other, '#/injector', `${width}, ${scheme}`, { check, eventually });
    const wide = await other.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    check(wide <= 0, `the page is ${wide} pixels too wide for ${width}`);
  }
}
