// Lists and search with ten thousand routers.

import { places, traffic, views } from './world.mjs';

/** opens shows every view by its tab, with live figures on the first. */
export async function opens({ open, check, eventually, environment }) {
  const stop = traffic(environment, ['shop.example.com/api/x', 'split.example.com/', 'down.example.com/']);
  const page = await open();
  for (const [view, title] of Object.entries(views)) {
    await page.locator(`nav[aria-label="Views"] a[href="#/${view === 'overview' ? '' : view}"]`).click();
    await page.locator('main h1', { hasText: title }).waitFor();
    check(await page.locator(`nav[aria-label="Views"] a[aria-current]`).getAttribute('href') === `#/${view === 'overview' ? '' : view}`, `the tab of ${view} is not marked`);
    check((await page.locator('main [role="alert"]').count()) === 0, `${view} says that it cannot be shown`);
  }
  check(!(await page.locator('nav a', { hasText: 'xDS' }).isVisible()), 'there is a tab of xDS, which is not configured');
  await page.evaluate(() => { location.hash = '#/xds'; });
  await page.locator('main [role="alert"]', { hasText: 'xDS is off' }).waitFor();
  check(!(await page.locator('nav a', { hasText: 'Injector' }).isVisible()), 'there is a tab of the injector, which is not configured');
  await page.evaluate(() => { location.hash = '#/injector'; });
  await page.locator('main [role="alert"]', { hasText: 'The injector is off' }).waitFor();
  check(!(await page.locator('nav a', { hasText: 'Environments' }).isVisible()), 'there is a tab of environments, without an environment service');
  await page.evaluate(() => { location.hash = '#/environments'; });
  await page.locator('main [role="alert"]', { hasText: 'There is no environment service' }).waitFor();
  await page.locator('nav a', { hasText: 'Overview' }).click();
  await page.locator('.state.bad h1', { hasText: 'disabled' }).waitFor();
  const overload = await page.locator('section[aria-label="Overload"]').innerText();
  check(/no action is active/.test(overload) && /descriptors\s*\d+ %/.test(overload), `the state of overload is ${overload}`);
  await eventually('requests a second of the entrypoint web', async () => Number(await page.locator('.lane', { hasText: 'web' }).first().locator('figcaption b').first().innerText()) > 1);
  await eventually('the busiest router', async () => (await page.locator('section[aria-label="Routers"] tbody tr', { hasText: 'shop@file' }).innerText()).match(/shop@file\s+[\d.]+\s/));
  await page.locator('section[aria-label="Routers"] button', { hasText: 'Most 5xx' }).click();
  await eventually('the router with the most errors', async () => (await page.locator('section[aria-label="Routers"] tbody tr').first().innerText()).includes('down@file'));
  await page.locator('section[aria-label="Traffic by entry point"] .plot').first().hover();
  await page.locator('.plot .note').first().waitFor();
  check(/requests/.test(await page.locator('.plot .note').first().innerText()), 'the plot does not say what was at a moment');
  await eventually('the stream of events', async () => (await page.locator('.pulse').innerText()) === 'Live');
  check(await page.title() === 'Overview · edge-test · Sluice', `the title is ${await page.title()}`);
  await stop();
}

/** searches types a name, and measures each key stroke until the rows are shown. */
export async function searches({ open, check, eventually }) {
  const page = await open({ place: '#/routers' });
  check((await page.locator('.pager span').innerText()).includes('of 10,0'), 'the list does not say how many there are');
  const apart = await page.context().browser().newContext(); // A page that is not in front is drawn once a second.
  const beside = await apart.newPage();
  const runs = [];
  for (let run = 0; run < 3 && !runs.some((worst) => worst < 300); run++) runs.push(await typed(page, beside, 'r9876.example'));
  await apart.close();
  check(runs.some((worst) => worst < 300), `the slowest key strokes took ${runs.map(Math.round)} ms, at most 300`);
  check((await page.locator('tbody tr').count()) === 1, 'the search found more than one router');
  check((await page.locator('tbody tr').innerText()).includes('Host(`r9876.example.com`)'), 'the search found another router');
  check(page.url().includes('search=r9876.example'), 'the address does not hold the search');
  await page.reload();
  await eventually('the search after a reload', async () => (await page.locator('tbody tr').count()) === 1);

  await page.locator('input[type="search"]').fill('');
  await eventually('all rows', async () => (await page.locator('tbody tr').count()) === 50);
  await page.locator('.pager button', { hasText: 'Next' }).click();
  await eventually('the second page', async () => (await page.locator('.pager span').innerText()).startsWith('51–100'));
  check((await page.locator('tbody tr').count()) === 50, 'a page has more than 50 rows');
  await page.locator('th button', { hasText: 'Priority' }).click();
  await eventually('the order by priority', async () => (await page.locator('th[aria-sort="descending"]').innerText()).includes('Priority'));
  await page.locator('.choices button', { hasText: 'Disabled' }).click();
  await eventually('the disabled routers', async () => (await page.locator('tbody tr').count()) === 3);
  check((await page.locator('tbody').innerText()).includes('middleware "jwt-shop@file" does not exist'), 'the list does not say why');
  await page.locator('input[type="search"]').fill('nothing is called so');
  await eventually('nothing', async () => (await page.locator('tbody').innerText()) === 'Nothing matches.');
}

/**
 * typed types a text into the empty search and returns the longest time from a key to its rows, in milliseconds. From
 * that of each key, it subtracts by how much more than 50 ms a timer of the empty page beside it was late meanwhile: for
 * so long, the machine had other work.
 */
async function typed(page, beside, text) {
  await page.locator('input[type="search"]').fill('');
  await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 50);
  let worst = 0;
  for (const key of text) {
    await beside.evaluate(() => {
      let last = performance.now();
      window.longest = 0;
      window.look = () => {
        const now = performance.now();
        window.longest = Math.max(window.longest, now - last);
        last = now;
      };
      const tick = () => {
        window.look();
        window.timer = setTimeout(tick, 0);
      };
      tick();
    });
    await page.evaluate(() => {
      const input = document.querySelector('input[type="search"]');
      window.drawn = new Promise((resolve) => {
        let begun;
        input.addEventListener('input', () => { begun = performance.now(); }, { once: true, capture: true });
        const watch = new MutationObserver(() => {
          watch.disconnect();
          // The rows have been painted.
          requestAnimationFrame(() => resolve(performance.now() - begun));
        });
        watch.observe(document.querySelector('tbody'), { childList: true });
      });
    });
    await page.keyboard.type(key);
    const took = await page.evaluate(() => window.drawn);
    const stalled = await beside.evaluate(() => {
      window.look();
      clearTimeout(window.timer);
      return window.longest;
    });
    worst = Math.max(worst, took - Math.max(0, stalled - 50));
  }
  return worst;
}

/** phones opens every view on a narrow screen, which must not scroll sideways. */
export async function phones({ open, check }) {
  const page = await open({ width: 390, height: 800, touch: true });
  for (const place of places) {
    await page.evaluate((hash) => { location.hash = hash; }, place);
    await page.waitForTimeout(400);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    check(wide <= 0, `${place} is ${wide} pixels too wide for a phone`);
  }
  await page.locator('nav a', { hasText: 'Routers' }).tap();
  await page.locator('main h1', { hasText: 'Routers' }).waitFor();
  await page.locator('tbody a', { hasText: 'down' }).first().tap();
  await page.locator('main h1', { hasText: 'down@file' }).waitFor();
}
