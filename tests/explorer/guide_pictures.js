// Takes the pictures of docs/guide from a running server: node guide_pictures.js ENDPOINT FOLDER
// Start one for it: orrery serve --memory --port 18470
import { mkdirSync } from 'node:fs';

const [endpoint, folder] = process.argv.slice(2);
process.env.ORRERY_ENDPOINT = endpoint;
const { chromium } = await import('playwright-core');
const { rest, seed, openContainer, write } = await import('./harness.js');

const towns = ['Bern', 'Lyon', 'Oslo', 'Porto'];
const names = ['ann', 'bob', 'cleo', 'dan', 'eve', 'finn', 'gina', 'hugo'];
const orders = Array.from({ length: 800 }, (_, i) => ({
  id: String(i + 1), customer: `${names[i % names.length]} ${1 + (i % 9)}`, pk: `${names[i % names.length]} ${1 + (i % 9)}`, town: towns[i % towns.length],
  total: Math.round(((i * 7919) % 20000) + 250) / 100, lines: [{ sku: i % 3 ? 'tea' : 'pot', count: 1 + (i % 4) }],
}));
mkdirSync(folder, { recursive: true });
await seed('shop', 'orders', orders);
await rest('POST', ['dbs', 'shop', 'colls'], { body: { id: 'customers', partitionKey: { paths: ['/id'], kind: 'Hash', version: 2 } } });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
const page = await (await browser.newContext({ viewport: { width: 1280, height: 720 }, baseURL: endpoint, reducedMotion: 'reduce' })).newPage();
await openContainer(page, 'shop', 'orders', 'query');
await write(page, 'Query', 'SELECT c.id, c.customer, c.town, c.total FROM c WHERE c.total > 150 ORDER BY c.total DESC');
await page.keyboard.press('Control+Enter');
await page.getByText(/rows/).first().waitFor();
await page.waitForTimeout(500);
await page.screenshot({ path: `${folder}/query.png` });
for (let round = 0; round < 6; ++round) {
  await Promise.all(orders.slice(0, 300).map((o) => rest('GET', ['dbs', 'shop', 'colls', 'orders', 'docs', o.id], { headers: { 'x-ms-documentdb-partitionkey': JSON.stringify([o.pk]) } }).catch(() => undefined)));
  await page.waitForTimeout(1000);
}
await openContainer(page, 'shop', 'orders', 'scale');
await page.getByRole('heading', { name: /physical partitions/ }).waitFor();
await page.waitForTimeout(3500);
await page.screenshot({ path: `${folder}/scale.png` });
// The Design Lab: an application that asks by town, and adds lines to one order.
const docs = ['dbs', 'shop', 'colls', 'orders', 'docs'];
for (let i = 0; i < 160; ++i)
  await rest('POST', docs, { body: { query: `SELECT * FROM c WHERE c.town = '${towns[i % towns.length]}' AND c.total > ${150 + (i % 40)}` }, headers: { 'x-ms-documentdb-isquery': 'true', 'content-type': 'application/query+json' } });
const first = orders[0];
for (let i = 0; i < 20; ++i) {
  first.lines.push({ sku: `extra ${i}`, count: 1 });
  await rest('PUT', [...docs, first.id], { body: first, headers: { 'x-ms-documentdb-partitionkey': JSON.stringify([first.pk]) } });
}
const view = (name) => page.getByRole('radio', { name, exact: true }).check({ force: true });
page.setDefaultTimeout(300_000);
await openContainer(page, 'shop', 'orders', 'lab');
await page.getByRole('region', { name: /^Fan-out query: / }).first().waitFor();
await page.screenshot({ path: `${folder}/lab-findings.png` });
await view('What if');
await page.getByLabel('Workload').selectOption('demo:car-telemetry');
await page.getByRole('button', { name: 'Run', exact: true }).click();
await page.getByText(/Done in/).waitFor();
await page.getByRole('heading', { name: 'Side by side' }).evaluate((heading) => heading.scrollIntoView({ block: 'start' }));
await page.screenshot({ path: `${folder}/lab-what-if.png` });
await view('Cost');
await page.getByText('is the cheapest', { exact: false }).waitFor();
await page.screenshot({ path: `${folder}/lab-cost.png` });
await view('Embed or reference');
await page.getByRole('region', { name: '/lines' }).waitFor();
await page.screenshot({ path: `${folder}/lab-relations.png` });
await browser.close();
process.exit(0);
