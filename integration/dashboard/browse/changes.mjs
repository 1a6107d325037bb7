// Configuration changes while the page is open.

import { write } from './world.mjs';

const follower = (rule) => `http:\n  routers:\n    follower: {rule: 'Host(\`${rule}\`)', service: shop@file}\n`;

/** follows changes a file, and expects the change on open pages. */
export async function follows({ open, check, eventually, environment }) {
  write(environment, 'follower.yaml', follower('before.example.com'));
  const changes = await open({ place: '#/changes' });
  await changes.locator('.feed li', { hasText: 'follower@file' }).first().waitFor();
  const router = await open({ place: '#/routers/follower%40file' });
  const list = await open({ place: '#/routers?search=follower' });
  const first = await changes.locator('.feed > li').first().getAttribute('data-generation');
  check((await router.locator('.route').innerText()).includes('before.example.com'), 'the page of the router does not show its rule');

  const took = [];
  for (const rule of ['between.example.com', 'before.example.com', 'after.example.com']) { // The machine may pause for a while.
    const begun = Date.now();
    const last = await changes.locator('.feed > li').first().getAttribute('data-generation');
    write(environment, 'follower.yaml', follower(rule));
    await changes.locator(`.feed > li.arrive:not([data-generation="${last}"]):first-child`, { hasText: 'follower@file' }).waitFor();
    took.push(Date.now() - begun);
  }
  check(Math.min(...took) < 5000, `the changes took ${took} ms to show`);
  check(Number(await changes.locator('.feed > li').first().getAttribute('data-generation')) > Number(first), 'the newest change is not the first');
  await eventually('the new rule on the page of the router', async () => (await router.locator('.route').innerText()).includes('after.example.com'));
  await eventually('the new rule in the list', async () => (await list.locator('tbody').innerText()).includes('after.example.com'));

  await changes.locator('.feed > li .number').first().click();
  await changes.locator('main h1', { hasText: 'Generation' }).waitFor();
  check((await changes.locator('.diff .path').innerText()) === 'rule', 'the difference does not name what changed');
  check((await changes.locator('.diff .before').innerText()).includes('before.example.com'), 'the difference lacks what was');
  check((await changes.locator('.diff .after').innerText()).includes('after.example.com'), 'the difference lacks what is');
}

/** quarantines breaks an object and repairs it, and checks the list of problems. */
export async function quarantines({ open, check, eventually, environment }) {
  const page = await open();
  const before = Number((await page.locator('.state h1').innerText()).match(/\d+/)[0]);
  check((await page.locator('section[aria-label="Problems"]').innerText()).includes('middleware "jwt-shop@file" does not exist'), 'the overview does not name the reason');
  write(environment, 'late.yaml', "http:\n  routers:\n    late: {rule: 'Host(`late.example.com`)', service: nobody}\n");
  await eventually('the new problem on the overview', async () => Number((await page.locator('.state h1').innerText()).match(/\d+/)[0]) === before + 1);
  await page.locator('section[aria-label="Problems"] a', { hasText: 'late@file' }).first().waitFor();

  await page.locator('nav a', { hasText: 'Problems' }).click();
  const row = page.locator('.problems li', { hasText: 'late@file' });
  await row.waitFor();
  const text = await row.innerText();
  check(text.includes('service "nobody@file" does not exist') && text.includes('late.yaml:3'), `the problem says ${text}`);
  await page.locator('input[type="search"]').fill('jwt-shop');
  await eventually('the search among problems', async () => (await page.locator('.problems li').first().innerText()).includes('broken@file') && (await row.count()) === 0);
  await page.locator('input[type="search"]').fill('');
  await row.locator('a').first().click();
  await page.locator('main h1', { hasText: 'late@file' }).waitFor();
  const wrong = page.locator('section[aria-label="Findings"]');
  check(/does not exist[^]*late\.yaml:3/.test(await wrong.innerText()), `the page of the router does not say what is wrong and where: ${await wrong.innerText()}`);
  check((await wrong.boundingBox()).height < 120, `what is wrong is ${(await wrong.boundingBox()).height} pixels high`);

  await page.locator('nav a', { hasText: 'Problems' }).click();
  await row.waitFor();
  write(environment, 'late.yaml', "http:\n  routers:\n    late: {rule: 'Host(`late.example.com`)', service: shop}\n");
  await eventually('the problem gone', async () => (await row.count()) === 0);
  check((await page.locator('.problems', { hasText: 'endpoint' }).last().innerText()).includes('unhealthy'), 'the endpoint that is down is not among the problems');
}

/** loses interrupts the network and restores it. */
export async function loses({ open, check, eventually }) {
  const page = await open();
  page.expected = /ERR_INTERNET_DISCONNECTED|Failed to load|ERR_NETWORK/;
  await page.locator('section[aria-label="Problems"] li').first().waitFor();
  await page.locator('nav .badge').waitFor();
  await page.context().setOffline(true);
  await page.locator('.lost-note', { hasText: 'No connection to Sluice since' }).waitFor();
  check((await page.locator('.pulse').innerText()) === 'Disconnected', 'the bar does not say that there is no connection');
  const problems = await page.locator('section[aria-label="Problems"] li').count();
  const badge = await page.locator('nav .badge').innerText();
  check(problems > 0, 'the problems are gone');
  // Longer than the interval of every poll: no failed one may look like an answer without problems.
  for (let second = 0; second < 13; second++) {
    const state = await page.locator('.state').innerText();
    check(/^No connection to Sluice since \d\d:\d\d:\d\d\.[^]*Last known state: .*disabled[^]*data from before/.test(state), `after ${second} s the status is ${state}`);
    check((await page.locator('.state.bad').count()) === 1, `after ${second} s the status is not red`);
    await page.waitForTimeout(1000);
  }
  check((await page.locator('section[aria-label="Problems"] li').count()) === problems, 'the last known problems are gone');
  check((await page.locator('nav .badge').innerText()) === badge, 'the last known number of findings is gone');
  await page.locator('nav a', { hasText: 'Services' }).click();
  await page.locator('main [role="alert"]', { hasText: 'No connection to Sluice' }).waitFor();
  await page.context().setOffline(false);
  await eventually('the list that could not be asked for', async () => (await page.locator('tbody tr').count()) > 1);
  await eventually('the page to recover', async () => !(await page.locator('.lost-note').isVisible()));
  await eventually('the stream of events', async () => (await page.locator('.pulse').innerText()) === 'Live');
}
