// Every page and state, light and dark, at 1280 and 390 px: nothing wider than the window, nothing that the accessibility rules
// object to, no error in the console; screenshots pages-NAME-WIDTH-COLOURS.png to look at.
import { accessible, assert, openContainer, point, rest, seed, shot, test, write } from './harness.js';

const DB = 'gallery';
const docs = (coll) => ['dbs', DB, 'colls', coll, 'docs'];
const towns = ['Bern', 'Lyon', 'Oslo', 'Porto'];
const orders = Array.from({ length: 900 }, (_, i) => ({
  id: `order-${String(i).padStart(4, '0')}`, pk: i % 3 ? `customer ${i % 29}` : 'the whale', type: 'order', town: towns[i % 4], total: Math.round(((i * 7919) % 20000) + 250) / 100,
  placed: new Date(1_700_000_000_000 + i * 3_600_000).toISOString(), lines: Array.from({ length: 1 + (i % 3) }, (_, k) => ({ sku: ['tea', 'pot', 'cup'][k], count: 1 + (i % 4) })), note: i % 50 ? undefined : 'y'.repeat(400),
}));

/// Real data with traffic and a split behind it.
async function prepare() {
  if (await rest('GET', ['dbs', DB]).then(() => true, () => false)) return;
  await seed(DB, 'orders', orders);
  await seed(DB, 'a-container-with-a-rather-long-name-that-no-column-holds-without-cutting-it', [{ id: 'x'.repeat(250), pk: 'long '.repeat(30) }]);
  await seed(DB, 'empty', []);
  await rest('POST', ['dbs', DB, 'colls'], { body: { id: 'autoscaled', partitionKey: { paths: ['/tenant', '/user', '/id'], kind: 'MultiHash', version: 2 } }, headers: { 'x-ms-cosmos-offer-autopilot-settings': '{"maxThroughput":4000}' } });
  await rest('POST', ['dbs', DB, 'colls', 'orders', 'sprocs'], { body: { id: 'archive', body: 'function archive(before) {\n  const context = getContext();\n  console.log("archiving what is older than " + before);\n  context.getResponse().setBody({ moved: 0 });\n}\n' } });
  await rest('POST', ['dbs', DB, 'colls', 'orders', 'triggers'], { body: { id: 'stamp', triggerType: 'Pre', triggerOperation: 'Create', body: 'function () { const r = getContext().getRequest(); const item = r.getBody(); item.createdAt = Date.now(); r.setBody(item); }' } });
  await rest('POST', ['dbs', DB, 'colls', 'orders', 'udfs'], { body: { id: 'tax', body: 'function tax(price) { return price * 0.081; }' } });
  await rest('POST', docs('orders'), { headers: point('big'), body: { id: 'two-megabytes', pk: 'big', rows: Array.from({ length: 23_500 }, (_, i) => ({ n: i, text: `row number ${i} of the large item, with words that wrap`, ok: i % 2 === 0 })) } });
  for (let i = 0; i < 140; ++i) await rest('POST', docs('orders'), { body: { query: `SELECT * FROM c WHERE c.town = '${towns[i % 4]}' AND c.total > ${150 + (i % 40)}` }, headers: { 'x-ms-documentdb-isquery': 'true', 'content-type': 'application/query+json' } });
  for (let i = 0; i < 200; ++i) await rest('GET', [...docs('orders'), orders[i].id], { headers: point(orders[i].pk) });
  const first = { ...orders[1], lines: [...orders[1].lines] };
  for (let i = 0; i < 20; ++i) {
    first.lines.push({ sku: `extra ${i}`, count: 1 });
    await rest('PUT', [...docs('orders'), first.id], { body: first, headers: point(first.pk) });
  }
}

const settle = async (page) => {
  await page.waitForLoadState('networkidle');
  for (const text of ['Loading…', 'Loading the editor…']) await page.getByText(text).first().waitFor({ state: 'hidden' });
  await page.waitForTimeout(350);
};
const query = async (page, text) => {
  await write(page, 'Query', text);
  await page.keyboard.press('Control+Enter');
  await page.getByTestId('charge').waitFor();
};
const view = (page, name) => page.getByRole('radio', { name, exact: true }).check({ force: true });

/// Name, and the way there; some go on from the state before them.
const STATES = [
  ['home', (page) => page.goto('/_explorer/#/')],
  ['database', (page) => page.goto(`/_explorer/#/dbs/${DB}`)],
  ['database-missing', async (page) => { await page.goto('/_explorer/#/dbs/no-such-database'); }],
  ['container-missing', async (page) => { await page.goto(`/_explorer/#/dbs/${DB}/colls/gone/items`); }],
  ['items', async (page) => {
    await openContainer(page, DB, 'orders');
    await page.getByRole('option').nth(3).click();
    await page.getByRole('textbox', { name: 'Item' }).waitFor();
  }],
  ['items-empty', (page) => openContainer(page, DB, 'empty')],
  ['items-long', async (page) => {
    await openContainer(page, DB, 'a-container-with-a-rather-long-name-that-no-column-holds-without-cutting-it');
    await page.getByRole('option').first().click();
    await page.getByRole('textbox', { name: 'Item' }).waitFor();
  }],
  ['item-large', async (page) => {
    await openContainer(page, DB, 'orders');
    await page.getByLabel('Filter: what follows FROM c').fill("c.pk = 'big'");
    await page.keyboard.press('Enter');
    await page.getByRole('option', { name: /two-megabytes/ }).click();
    await page.getByRole('textbox', { name: 'Item' }).waitFor();
  }],
  ['item-new', async (page) => {
    await openContainer(page, DB, 'orders');
    await page.getByRole('button', { name: 'New item' }).first().click();
    await page.getByRole('textbox', { name: 'Item' }).waitFor();
  }],
  ['upload', async (page) => {
    await openContainer(page, DB, 'empty');
    await page.getByRole('button', { name: 'Upload', exact: true }).click();
    await page.getByRole('dialog').waitFor();
  }],
  ['query-empty', (page) => openContainer(page, DB, 'orders', 'query')],
  ['query-table', async (page) => {
    await openContainer(page, DB, 'orders', 'query');
    await query(page, 'SELECT c.id, c.pk, c.town, c.total, c.lines FROM c WHERE c.total > 100 ORDER BY c.total DESC');
  }],
  ['query-tree', (page) => page.getByRole('tab', { name: 'Tree' }).click()],
  ['query-json', (page) => page.getByRole('tab', { name: 'JSON' }).click()],
  ['query-cost', (page) => page.getByRole('tab', { name: 'Cost and indexes' }).click()],
  ['query-plan', (page) => page.getByRole('tab', { name: 'Plan' }).click()],
  ['query-plan-scan', async (page) => {
    await query(page, "SELECT c.town, COUNT(1) AS n, AVG(c.total) AS mean FROM c JOIN l IN c.lines WHERE LOWER(l.sku) = 'tea' AND c.total > 20 GROUP BY c.town");
    await page.getByRole('tab', { name: 'Plan' }).click();
  }],
  ['scripts', (page) => openContainer(page, DB, 'orders', 'scripts')],
  ['scripts-procedure', (page) => page.getByRole('button', { name: 'archive' }).click()],
  ['scripts-trigger', (page) => page.getByRole('button', { name: 'stamp' }).click()],
  ['feed', async (page) => {
    await openContainer(page, DB, 'orders', 'feed');
    await page.getByText('From the beginning').click();
    await page.getByRole('button', { name: /^(Start watching|Watch)$/ }).first().click();
    await page.getByRole('option').first().click();
    await page.getByRole('textbox', { name: 'Change' }).waitFor();
  }],
  ['scale', async (page) => {
    await openContainer(page, DB, 'orders', 'scale');
    await page.getByRole('heading', { name: /physical partition/ }).waitFor();
  }],
  ['scale-heat', (page) => page.getByRole('heading', { name: 'Largest logical partitions' }).evaluate((e) => e.scrollIntoView({ block: 'start' }))],
  ['scale-bill', (page) => page.getByRole('heading', { name: 'What the bill would be' }).evaluate((e) => e.scrollIntoView({ block: 'start' }))],
  ['scale-autoscale', async (page) => {
    await openContainer(page, DB, 'autoscaled', 'scale');
    await page.getByRole('heading', { name: 'Autoscale', exact: true }).waitFor();
  }],
  ['lab', async (page) => {
    await openContainer(page, DB, 'orders', 'lab');
    await page.getByRole('region', { name: /^Fan-out query: / }).first().waitFor();
  }],
  ['lab-end', async (page) => {
    await page.getByText('Not judged for lack of evidence').click();
    await page.getByText('Not judged for lack of evidence').evaluate((e) => e.scrollIntoView({ block: 'start' }));
  }],
  ['lab-what-if', async (page) => {
    await view(page, 'What if');
    await page.getByRole('button', { name: 'Run', exact: true }).waitFor();
  }],
  ['lab-cost', async (page) => {
    await view(page, 'Cost');
    await page.getByText('is the cheapest', { exact: false }).waitFor();
  }],
  ['lab-relations', async (page) => {
    await view(page, 'Embed or reference');
    await page.getByRole('region', { name: '/lines' }).waitFor();
  }],
  ['lab-empty', async (page) => {
    await openContainer(page, DB, 'empty', 'lab');
    await page.getByText('Nothing found so far').waitFor();
  }],
  ['settings', (page) => openContainer(page, DB, 'orders', 'settings')],
  ['settings-end', (page) => page.getByRole('button', { name: 'Delete this container…' }).scrollIntoViewIfNeeded()],
  ['new-container', async (page) => {
    await page.goto(`/_explorer/#/dbs/${DB}`);
    await page.getByRole('button', { name: /New container|Create a container/ }).first().click();
    await page.getByRole('dialog').getByText('Time to live, unique keys').click();
  }],
];

for (const dark of [false, true])
  for (const width of [1280, 390]) {
    const name = `${width}-${dark ? 'dark' : 'light'}`;
    const statuses = [404];
    test(`every page at ${width} px, ${dark ? 'dark' : 'light'}`, { dark, statuses, viewport: { width, height: width < 500 ? 844 : 800 }, timeout: 600_000 }, async (page) => {
      await prepare();
      const problems = [];
      for (const [state, go] of STATES) {
        try {
          await go(page);
          await settle(page);
        } catch (error) {
          await shot(page, `pages-${state}-${name}`);
          problems.push(`${state}: ${error.message.split('\n')[0]}`);
          continue;
        }
        await shot(page, `pages-${state}-${name}`);
        const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        if (over > 0) problems.push(`${state}: ${over} px too wide`);
        const burst = await page.evaluate(() => [...document.querySelectorAll('.card')].filter((c) => c.scrollWidth > c.clientWidth + 1).length);
        if (burst > 0) problems.push(`${state}: ${burst} cards hold more than they are wide`);
        await accessible(page).catch((error) => problems.push(`${state}: ${error.message.slice(0, 1500)}`));
      }
      assert.deepEqual(problems, []);
    });
  }
