// The Design Lab: findings, what-if runs, costs, embed or reference.
import { accessible, assert, openContainer, point, rest, seed, shot, test } from './harness.js';

const docs = (coll) => ['dbs', 'lab', 'colls', coll, 'docs'];
const query = (coll, text, key) => rest('POST', docs(coll), { body: { query: text }, headers: { 'x-ms-documentdb-isquery': 'true', 'content-type': 'application/query+json', ...(key ? point(key) : {}) } });

/// A container with more than one partition, whose application asks across them and grows an array.
async function busy(coll) {
  const items = Array.from({ length: 240 }, (_, i) => ({ id: `order-${i}`, pk: `customer-${i % 24}`, type: 'order', city: `city-${i % 40}`, placed: `2024-0${1 + (i % 9)}-01T10:00:00Z`, lines: [{ sku: `s${i % 7}`, n: 1 }] }));
  await seed('lab', coll, items);
  for (let i = 0; i < 120; ++i) await query(coll, `SELECT * FROM c WHERE c.city = 'city-${i % 40}'`);
  for (let i = 0; i < 40; ++i) await query(coll, `SELECT * FROM c WHERE c.id = 'order-${i}'`, `customer-${i % 24}`);
  let lines = items[0].lines;
  for (let i = 0; i < 12; ++i) {
    lines = [...lines, { sku: `more-${i}`, n: i }];
    await rest('PUT', [...docs(coll), 'order-0'], { body: { ...items[0], lines }, headers: point('customer-0') });
    await rest('GET', [...docs(coll), 'order-0'], { headers: point('customer-0') });
  }
}

const dark = async (page) => {
  await page.getByRole('button', { name: 'Colours', exact: true }).click();
  await page.getByRole('menuitem', { name: 'Dark' }).click();
  await page.waitForTimeout(300);
};
const view = (page, name) => page.getByRole('radio', { name, exact: true }).check({ force: true });

test('findings say what was done, with evidence, change and saving', async (page) => {
  await busy('orders');
  await openContainer(page, 'lab', 'orders', 'lab');
  const card = page.getByRole('region', { name: /^Fan-out query: / }).first();
  await card.waitFor();
  assert.match(await card.innerText(), /SELECT \* FROM c WHERE c\.city = \?/);
  assert.match(await card.innerText(), /a month/);
  await page.getByRole('region', { name: /^Query that should be a point read/ }).waitFor();
  await shot(page, 'lab-findings');
  await page.getByText('Not judged for lack of evidence').click();
  await page.getByText(/needs 7 days of/).first().waitFor();
  await accessible(page);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download the report' }).click().then(() => page.getByRole('menuitem', { name: 'As Markdown' }).click()),
  ]);
  assert.equal(download.suggestedFilename(), 'orders-design.md');
  await dark(page);
  await shot(page, 'lab-findings-dark');
  await accessible(page);
});

test('a demo compares four keys side by side', { timeout: 300_000, patience: 200_000 }, async (page) => {
  await seed('lab', 'demo', []);
  await openContainer(page, 'lab', 'demo', 'lab');
  await view(page, 'What if');
  await page.getByText('No requests to this container have been recorded yet').waitFor();
  await page.getByText('No run yet').waitFor();
  await accessible(page);
  await page.getByLabel('Workload').selectOption('demo:car-telemetry');
  await page.getByText(/Cars send measurements/).waitFor();
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByText(/Done in/).waitFor();
  const table = page.getByRole('region', { name: 'Outcomes as a table' });
  for (const key of ['/model', '/month', '/deviceId', '/deviceId + /month']) await table.getByRole('columnheader', { name: key, exact: false }).first().waitFor();
  await table.getByText('above 20 GB').first().waitFor();
  await table.getByText('best', { exact: true }).waitFor();
  await page.getByRole('heading', { name: 'Side by side' }).evaluate((heading) => heading.scrollIntoView({ block: 'start' }));
  await shot(page, 'lab-what-if');
  await accessible(page);
  await dark(page);
  await shot(page, 'lab-what-if-dark');
  await accessible(page);
});

test('a run of recorded requests, with a key of one’s own, and one that is cancelled', { timeout: 300_000, patience: 200_000 }, async (page) => {
  await busy('replayed');
  await openContainer(page, 'lab', 'replayed', 'lab');
  await view(page, 'What if');
  await page.getByRole('checkbox', { name: '/city', exact: true }).waitFor();
  await page.getByLabel('Other keys').fill('city');
  await page.getByText('Paths like /a, levels joined by +, keys separated by commas.').waitFor();
  assert.ok(await page.getByRole('button', { name: 'Run', exact: true }).isDisabled());
  await page.getByLabel('Other keys').fill('/type + /city');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByText(/Done in/).waitFor();
  await page.getByRole('region', { name: 'Outcomes as a table' }).getByRole('columnheader', { name: '/type + /city' }).waitFor();
  await page.getByLabel('Workload').selectOption('demo:multi-tenant');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByRole('button', { name: 'Cancel', exact: true }).click();
  await page.getByText(/^Cancelled\./).waitFor();
});

test('a workload from a file, and a file that is none', { timeout: 300_000, patience: 200_000, statuses: [400] }, async (page) => {
  await seed('lab', 'uploaded', []);
  await openContainer(page, 'lab', 'uploaded', 'lab');
  await view(page, 'What if');
  await page.getByLabel('Workload', { exact: true }).selectOption('upload');
  assert.ok(await page.getByRole('button', { name: 'Run', exact: true }).isDisabled());
  const file = (name, text) => page.getByLabel('Workload file (JSON)').setInputFiles({ name, mimeType: 'application/json', buffer: Buffer.from(text) });
  await file('broken.json', '{');
  await page.getByText('broken.json is no JSON file.').waitFor();
  const items = Array.from({ length: 60 }, (_, i) => ({ id: String(i), tenant: `t${i % 6}`, city: `c${i % 3}` }));
  await file('workload.json', JSON.stringify({
    keyPaths: ['/tenant'], items, operationsPerSecond: 50,
    operations: [{ op: 'read', id: '1', key: ['t1'], times: 8 }, { op: 'create', item: { id: 'new', tenant: 't2', city: 'c1' } }, { op: 'query', query: "SELECT * FROM c WHERE c.city = 'c1'" }],
  }));
  await page.getByText('workload.json is ready.').waitFor();
  await page.getByLabel('Other keys').fill('/tenant, /city');
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByText(/Done in/).waitFor();
  const table = page.getByRole('region', { name: 'Outcomes as a table' });
  for (const key of ['/tenant', '/city']) await table.getByRole('columnheader', { name: key, exact: false }).first().waitFor();
  await shot(page, 'lab-what-if-upload');
  await accessible(page);
  await file('wrong.json', JSON.stringify({ items: 5 }));
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  await page.getByText('The server refused the request').waitFor();
});

test('costs from measured traffic and from a form', async (page) => {
  await busy('priced');
  await openContainer(page, 'lab', 'priced', 'lab');
  await view(page, 'Cost');
  await page.getByText('is the cheapest', { exact: false }).waitFor();
  await shot(page, 'lab-cost');
  await accessible(page);
  await view(page, 'A form');
  await page.getByLabel('Peak RU/s').fill('1000');
  await page.getByLabel('RU in a month').fill('20000000');
  await page.getByLabel('Storage, MB').fill('0');
  await page.getByRole('button', { name: 'Compare' }).click();
  // 20 million RU at $0.25 a million.
  await page.getByRole('cell', { name: '$5.00' }).first().waitFor();
  await page.getByLabel('Regions', { exact: true }).fill('3');
  await page.getByRole('button', { name: 'Compare' }).click();
  await page.getByText('not possible: serverless accounts have one region').waitFor();
  await accessible(page);
});

test('embed or reference, with the numbers', async (page) => {
  await busy('related');
  await openContainer(page, 'lab', 'related', 'lab');
  await view(page, 'Embed or reference');
  await page.getByRole('region', { name: '/lines' }).waitFor();
  await page.getByText('Request Units of a month').first().waitFor();
  await shot(page, 'lab-relations');
  await accessible(page);
});

test('on a narrow screen, with long names', { viewport: { width: 390, height: 844 } }, async (page) => {
  const name = 'a-container-with-a-rather-long-name-that-does-not-fit';
  await busy(name);
  for (let i = 0; i < 3; ++i) await query(name, "SELECT c.id FROM c WHERE LOWER(c.aPropertyWithAnExtraordinarilyLongNameThatNoColumnHolds) = 'x'");
  await openContainer(page, 'lab', name, 'lab');
  await page.getByRole('region', { name: /^Fan-out query: / }).first().waitFor();
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(wide <= 0, `the page is ${wide} px too wide`);
  await shot(page, 'lab-narrow');
  await accessible(page);
  await view(page, 'Cost');
  await page.getByText('is the cheapest', { exact: false }).waitFor();
  await shot(page, 'lab-narrow-cost');
  await accessible(page);
});

test('an empty container', async (page) => {
  await seed('lab', 'empty', []);
  await openContainer(page, 'lab', 'empty', 'lab');
  await page.getByText('Nothing found so far').waitFor();
  await shot(page, 'lab-empty');
  await accessible(page);
  await view(page, 'Embed or reference');
  await page.getByText('No items have been seen yet').waitFor();
  await view(page, 'Cost');
  await page.getByText('No traffic has been recorded yet').waitFor();
});
