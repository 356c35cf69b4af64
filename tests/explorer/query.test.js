// Queries: rows and pages, views, charge, plan, indexes, parameters, completion, errors, history, export.
import { readFileSync } from 'node:fs';
import { accessible, assert, openContainer, rest, seed, shot, test, text, write } from './harness.js';

const items = Array.from({ length: 250 }, (_, i) => ({
  id: `i${i}`, pk: `p${i % 7}`, n: i, city: ['Bern', 'Lyon', 'Oslo'][i % 3], address: { zip: 1000 + i }, tags: [`t${i % 4}`, 'all'],
}));

const run = async (page, sql) => {
  await write(page, 'Query', sql);
  await page.keyboard.press('Control+Enter');
};

test('rows come in pages with their charge', async (page) => {
  await seed('query', 'pages', items);
  await openContainer(page, 'query', 'pages', 'query');
  await page.getByText('Run a query').waitFor();
  await accessible(page);
  await run(page, 'SELECT c.id, c.n, c.city FROM c ORDER BY c.n');
  await page.getByText('100 rows').waitFor();
  const first = Number.parseFloat(await text(page.getByTestId('charge')));
  assert.ok(first > 2, `a page costs ${first} RU`);
  assert.ok(await page.getByRole('cell', { name: 'i0', exact: true }).isVisible());
  await shot(page, 'query-table');
  await accessible(page);
  await page.getByRole('button', { name: 'Next page' }).click();
  await page.getByText('200 rows').waitFor();
  assert.ok(Number.parseFloat(await text(page.getByTestId('charge'))) > first);
  await page.getByRole('button', { name: 'All pages' }).click();
  await page.getByText('250 rows').waitFor();
  await page.getByText('End of the result').waitFor();
  await page.getByRole('tab', { name: 'JSON' }).click();
  await page.getByRole('textbox', { name: 'Rows as JSON' }).waitFor();
  await shot(page, 'query-json');
  await page.getByRole('tab', { name: 'Tree' }).click();
  await page.getByRole('button', { name: 'Close 0' }).waitFor();
  await shot(page, 'query-tree');
  await accessible(page);
  await page.getByRole('button', { name: 'Export the rows' }).click();
  const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('menuitem', { name: 'CSV' }).click()]);
  assert.equal(readFileSync(await file.path(), 'utf8').trim().split('\r\n').length, 251);
});

test('cost, metrics, plan, and applying the index that would help', async (page) => {
  await seed('query', 'plans', items, { indexingPolicy: { indexingMode: 'consistent', includedPaths: [{ path: '/pk/?' }], excludedPaths: [{ path: '/*' }] } });
  await openContainer(page, 'query', 'plans', 'query');
  await run(page, 'SELECT * FROM c WHERE c.city = "Oslo"');
  await page.getByText('83 rows').waitFor();
  await page.getByRole('tab', { name: 'Cost and indexes' }).click();
  await page.getByText('250 items read').waitFor().catch(() => undefined);
  await page.getByText('/city/?').waitFor();
  await shot(page, 'query-cost');
  await accessible(page);
  await page.getByRole('tab', { name: 'Plan' }).click();
  await page.getByText('scan', { exact: true }).first().waitFor();
  await page.getByRole('group', { name: 'filter c.city = "Oslo": 250 in, 83 out' }).waitFor();
  await shot(page, 'query-plan');
  await accessible(page);
  await page.getByRole('tab', { name: 'Cost and indexes' }).click();
  await page.getByRole('button', { name: 'Apply this index…' }).click();
  await page.getByRole('button', { name: 'Apply', exact: true }).click();
  await page.getByText(/The index is being built/).waitFor();
  const policy = (await rest('GET', ['dbs', 'query', 'colls', 'plans'])).body.indexingPolicy;
  assert.ok(policy.includedPaths.some((entry) => entry.path === '/city/?'));
  await page.waitForTimeout(500);
  await page.getByRole('textbox', { name: 'Query' }).click();
  await page.keyboard.press('Control+Enter');
  await page.getByRole('tab', { name: 'Plan' }).click();
  await page.getByText('index', { exact: true }).first().waitFor();
});

test('parameters, one logical partition, history and saved queries', async (page) => {
  await seed('query', 'params', items);
  await openContainer(page, 'query', 'params', 'query');
  await page.getByRole('button', { name: /^Parameters/ }).click();
  await page.getByRole('button', { name: 'Parameter', exact: true }).click();
  await page.getByLabel('Parameter 1: name').fill('@city');
  await page.getByLabel('Parameter 1: value, JSON').fill('"Lyon"');
  await run(page, 'SELECT VALUE COUNT(1) FROM c WHERE c.city = @city');
  await page.getByRole('cell', { name: '83', exact: true }).waitFor();
  await page.getByLabel(/Only in one logical partition/).fill('p1');
  await run(page, 'SELECT VALUE c.pk FROM c');
  await page.getByText('36 rows').waitFor();
  await accessible(page);
  await page.getByRole('textbox', { name: 'Query' }).click();
  await page.keyboard.press('Control+s');
  await page.getByLabel('Name', { exact: true }).fill('partition one');
  await page.keyboard.press('Enter');
  await page.getByText('Saved in this browser.').waitFor();
  await page.reload();
  await page.getByRole('button', { name: 'History' }).click();
  await page.getByRole('menuitem', { name: /COUNT/ }).click();
  await page.getByText('COUNT', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Saved queries' }).click();
  await page.getByRole('menuitem', { name: 'partition one', exact: true }).click();
  await page.getByText('SELECT', { exact: true }).waitFor();
});

test('completion knows the paths of the items and the functions', async (page) => {
  await seed('query', 'complete', items);
  await openContainer(page, 'query', 'complete', 'query');
  await page.waitForResponse((response) => response.request().method() === 'POST' && response.url().endsWith('/docs'));
  await page.getByRole('textbox', { name: 'Query' }).click();
  await page.keyboard.press('Control+a');
  await page.keyboard.type('SELECT c.addr');
  await page.getByRole('option', { name: /address/ }).waitFor();
  await page.waitForTimeout(150);
  await page.keyboard.press('Enter');
  await page.keyboard.type('.');
  await page.getByRole('option', { name: /zip/ }).waitFor();
  await shot(page, 'query-completion');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+a');
  await page.keyboard.type('SELECT STARTS');
  await page.getByRole('option', { name: /STARTSWITH/ }).waitFor();
});

test('an error names its place and a long query can be stopped', { statuses: [400] }, async (page) => {
  await seed('query', 'errors', items);
  await openContainer(page, 'query', 'errors', 'query');
  await run(page, 'SELECT * FROM c WHERE c.n = = 5');
  await page.getByText('The server refused the request').waitFor();
  await page.getByText(/SC1001/).waitFor();
  await shot(page, 'query-error');
  await accessible(page);
  await page.route('**/docs', async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 3000));
    await route.continue().catch(() => undefined);
  });
  await run(page, 'SELECT * FROM c');
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByText('stopped').waitFor();
  await page.unroute('**/docs', { behavior: 'ignoreErrors' }).catch(() => undefined);
});
