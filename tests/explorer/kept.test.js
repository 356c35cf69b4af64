// What somebody wrote is not lost, and what is shown is true, when things change under an open page.
import { readFileSync } from 'node:fs';
import { accessible, assert, KEY, openContainer, read, rest, seed, shot, test, text, write } from './harness.js';

const policyWithout = (path) => JSON.stringify({ indexingMode: 'consistent', automatic: true, includedPaths: [{ path: '/*' }], excludedPaths: [{ path }] });
const section = (page, heading) => page.locator('section').filter({ has: page.getByRole('heading', { name: heading, exact: true }) });

test('a new container shows its own throughput at once', async (page) => {
  await rest('POST', ['dbs'], { body: { id: 'kept-new' } });
  await page.goto('/_explorer/#/dbs/kept-new');
  await page.getByRole('button', { name: 'New container' }).first().click();
  await page.getByLabel('Name').fill('fresh');
  await page.getByLabel('Partition key, level 1').fill('/pk');
  await page.getByRole('button', { name: 'Create container' }).click();
  await page.locator('.chead').getByText('autoscale up to 1,000 RU/s').waitFor();
  await page.goto('/_explorer/#/dbs/kept-new');
  await page.locator('.tile').getByText('autoscale up to 1,000 RU/s').waitFor();
});

test('saving one setting keeps what is being written in another, and leaving asks', async (page) => {
  await seed('kept', 'settings', []);
  await openContainer(page, 'kept', 'settings', 'settings');
  await page.getByRole('textbox', { name: 'Indexing policy' }).waitFor();
  await write(page, 'Indexing policy', policyWithout('/secret/*'));
  await page.getByText('not saved').waitFor();
  await page.getByText('Items that say so').click();
  await section(page, 'Time to live').getByRole('button', { name: 'Save' }).click();
  await page.getByText('The container was changed.').waitFor();
  await section(page, 'Time to live').locator('button:disabled').waitFor();
  assert.match(await read(page, 'Indexing policy'), /secret/);
  // Another view of the same container leaves nothing; another page does.
  const asked = [];
  page.on('dialog', (dialog) => { asked.push(dialog.message()); void dialog.dismiss(); });
  await page.getByRole('tab', { name: 'Items', exact: true }).click();
  await page.getByText('No items yet').waitFor();
  await page.getByRole('tab', { name: 'Settings', exact: true }).click();
  assert.deepEqual(asked, []);
  await page.getByRole('link', { name: 'Orrery, start page' }).click();
  await page.waitForFunction(() => location.hash.endsWith('/settings'));
  assert.equal(asked.length, 1);
  assert.match(asked[0], /not saved/);
  await page.getByRole('button', { name: 'Save policy' }).click();
  await page.getByText('not saved').waitFor({ state: 'detached' });
  const { body } = await rest('GET', ['dbs', 'kept', 'colls', 'settings']);
  assert.equal(body.defaultTtl, -1);
  assert.ok(body.indexingPolicy.excludedPaths.some((p) => p.path === '/secret/*'));
});

test('settings that somebody else changed meanwhile are read, and both changes stay', { statuses: [412] }, async (page) => {
  await seed('kept', 'two-tabs', []);
  await openContainer(page, 'kept', 'two-tabs', 'settings');
  await page.getByRole('textbox', { name: 'Indexing policy' }).waitFor();
  const { body: before } = await rest('GET', ['dbs', 'kept', 'colls', 'two-tabs']);
  await rest('PUT', ['dbs', 'kept', 'colls', 'two-tabs'], { body: { ...before, defaultTtl: 77 } });
  await write(page, 'Indexing policy', policyWithout('/mine/*'));
  await page.getByRole('button', { name: 'Save policy' }).click();
  await page.getByText('Somebody else changed the container meanwhile').waitFor();
  await section(page, 'Time to live').getByRole('radio', { name: 'All items' }).and(page.locator(':checked')).waitFor();
  await shot(page, 'settings-conflict');
  assert.equal(await section(page, 'Time to live').getByLabel('Seconds').inputValue(), '77');
  assert.match(await read(page, 'Indexing policy'), /mine/);
  await page.getByRole('button', { name: 'Save policy' }).click();
  await page.getByText('not saved').waitFor({ state: 'detached' });
  const { body } = await rest('GET', ['dbs', 'kept', 'colls', 'two-tabs']);
  assert.equal(body.defaultTtl, 77);
  assert.ok(body.indexingPolicy.excludedPaths.some((p) => p.path === '/mine/*'));
});

test('the change feed policy is set and changed', async (page) => {
  await seed('kept', 'feed', []);
  await openContainer(page, 'kept', 'feed', 'settings');
  const feed = section(page, 'Change feed');
  await feed.getByText('All versions and deletes').click();
  await feed.getByLabel('Minutes that they are kept').fill('0');
  await feed.getByText('A whole number of minutes').waitFor();
  await feed.getByLabel('Minutes that they are kept').fill('30');
  await accessible(page);
  await feed.getByRole('button', { name: 'Save change feed policy' }).click();
  await page.getByText('The container was changed.').waitFor();
  assert.equal((await rest('GET', ['dbs', 'kept', 'colls', 'feed'])).body.changeFeedPolicy.retentionDuration, 30);
  await feed.locator('button:disabled').waitFor();
  await feed.getByText('Latest versions').click();
  await feed.getByRole('button', { name: 'Save change feed policy' }).click();
  await feed.locator('button:disabled').waitFor();
  assert.ok(!(await rest('GET', ['dbs', 'kept', 'colls', 'feed'])).body.changeFeedPolicy?.retentionDuration);
});

test('a container that is deleted while it is open says so', { statuses: [404] }, async (page) => {
  await seed('kept', 'gone', [{ id: '1', pk: 'a' }]);
  await openContainer(page, 'kept', 'gone');
  await page.getByRole('option').first().click();
  await page.getByRole('textbox', { name: 'Item' }).waitFor();
  await rest('DELETE', ['dbs', 'kept', 'colls', 'gone']);
  await write(page, 'Item', '{"id":"1","pk":"a","x":2}');
  await page.keyboard.press('Control+s');
  await page.getByText('does not exist any more').waitFor();
  assert.equal(await page.getByRole('dialog').count(), 0);
  assert.match(await read(page, 'Item'), /"x":2/);
  await page.getByRole('treeitem', { name: 'gone' }).waitFor({ state: 'detached' });
  await page.getByRole('tab', { name: 'Scale', exact: true }).click();
  await page.locator('#container-panel').getByText('There is no container').waitFor();
  assert.equal(await page.getByText('does not keep metrics').count(), 0);
  await shot(page, 'container-gone');
  await accessible(page);
});

test('a key that is refused later asks for another and keeps what was written', { statuses: [401] }, async (page) => {
  await seed('kept', 'session', [{ id: '1', pk: 'a' }]);
  await openContainer(page, 'kept', 'session');
  await page.getByRole('option').first().click();
  await page.getByRole('textbox', { name: 'Item' }).waitFor();
  await write(page, 'Item', '{"id":"1","pk":"a","long":"work"}');
  await page.route('**/docs/1', (route) => route.fulfill({ status: 401, contentType: 'application/json', body: '{"code":"Unauthorized","message":"The key was changed."}' }));
  await page.keyboard.press('Control+s');
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await page.getByText('does not accept the key any more').waitFor();
  await shot(page, 'key-refused');
  await accessible(page);
  await page.unroute('**/docs/1');
  await page.getByLabel('Account key').fill(KEY);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'session' }).waitFor();
  assert.match(await read(page, 'Item'), /"long":"work"/);
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText(/Saved for/).waitFor();
});

test('the place of an error is right when a part of the text was run', { statuses: [400] }, async (page) => {
  await seed('kept', 'part', [{ id: '1', pk: 'a' }]);
  await openContainer(page, 'kept', 'part', 'query');
  const query = 'SELECT c.größe FROM c WHERE c.n = = 5';
  await write(page, 'Query', `SELECT 1\n\n${query}`);
  for (let i = 0; i <= query.length; ++i) await page.keyboard.press('Shift+ArrowLeft');
  await page.keyboard.press('Control+Enter');
  await page.getByText(/SC1001/).waitFor();
  await page.locator('.cm-lintRange').waitFor();
  const mark = page.locator('.cm-line', { has: page.locator('.cm-lintRange') });
  assert.equal(await text(mark), query);
  assert.equal(await page.locator('.cm-lintRange').evaluate((element) => {
    const range = document.createRange();
    range.setStart(element.closest('.cm-line'), 0);
    range.setEndBefore(element);
    return range.toString();
  }), 'SELECT c.größe FROM c WHERE c.n = ');
});

test('CSV has every member of every row', async (page) => {
  await seed('kept', 'csv', Array.from({ length: 500 }, (_, i) => ({ id: `i${i}`, pk: 'one', n: i, ...(i === 490 ? { late: 'here' } : {}) })));
  await openContainer(page, 'kept', 'csv', 'query');
  await write(page, 'Query', 'SELECT c.id, c.late FROM c');
  await page.keyboard.press('Control+Enter');
  await page.getByRole('button', { name: 'All pages' }).click();
  await page.getByText('End of the result').waitFor();
  await page.getByRole('button', { name: 'Export the rows' }).click();
  let [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('menuitem', { name: 'CSV' }).click()]);
  let lines = readFileSync(await file.path(), 'utf8').split('\r\n');
  assert.equal(lines[0], 'id,late');
  assert.ok(lines.includes('i490,here'));
  await page.getByRole('tab', { name: 'Items', exact: true }).click();
  await page.getByRole('button', { name: 'Upload and download' }).click();
  await page.getByRole('menuitem', { name: 'Download items…' }).click();
  await page.getByText('CSV', { exact: true }).click();
  [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download', exact: true }).click()]);
  lines = readFileSync(await file.path(), 'utf8').split('\r\n');
  assert.equal(lines[0], 'id,pk,n,late');
  assert.ok(lines.includes('i490,one,490,here'));
  assert.equal(lines.length, 502);
});

test('a file that is broken is not uploaded, and says why', async (page) => {
  await seed('kept', 'upload', []);
  await openContainer(page, 'kept', 'upload');
  await page.getByRole('button', { name: 'Upload and download' }).click();
  await page.getByRole('menuitem', { name: 'Upload items…' }).click();
  const dialog = page.getByRole('dialog');
  const file = (name, content) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(content, 'latin1') });
  const good = file('good.json', '[{"id":"1","pk":"a"}]');
  for (const [files, problem] of [
    [[file('open.csv', 'id,pk\n1,a\n2,"b\n3,c\n')], 'open.csv: the quoted field that begins in line 3 is never closed'],
    [[file('ragged.csv', 'id,pk\n1,a,more\n')], 'ragged.csv: row 1 below the header line has 3 fields, the header line 2'],
    [[file('latin.csv', 'id,pk\n1,M\xfcller\n')], 'latin.csv is not UTF-8 text'],
    [[file('none.csv', '')], 'none.csv: there are no items in it'],
    [[good, file('cut.json', '[{"id":"2"')], 'cut.json: '],
  ]) {
    await page.locator('input[type=file]').setInputFiles(files);
    await dialog.getByRole('button', { name: 'Upload', exact: true }).click();
    await dialog.getByText('Nothing was uploaded').waitFor();
    await dialog.getByText(problem).waitFor();
  }
  await shot(page, 'upload-broken');
  assert.equal((await rest('GET', ['dbs', 'kept', 'colls', 'upload', 'docs'])).body._count, 0);
  await page.locator('input[type=file]').setInputFiles([good]);
  await dialog.getByRole('button', { name: 'Upload', exact: true }).click();
  await dialog.getByText('Done.').waitFor();
});

test('a view whose code cannot be fetched says so, and comes when the server is back', async (page) => {
  await seed('kept', 'parts', [{ id: '1', pk: 'a' }]);
  await openContainer(page, 'kept', 'parts');
  await page.getByRole('option').first().waitFor();
  // Answered as by a server that has other files now; a refused connection would be logged as an error.
  const away = (route) => route.fulfill({ status: 200, contentType: 'text/javascript', body: 'throw new Error("away")' });
  await page.route(/assets\/(query|codemirror)-/, away);
  await page.getByRole('tab', { name: 'Query', exact: true }).click();
  await page.getByText('This part of the page could not be loaded').waitFor();
  await page.getByRole('button', { name: 'Load the page anew' }).waitFor();
  await shot(page, 'part-missing');
  await accessible(page);
  await page.getByRole('tab', { name: 'Items', exact: true }).click();
  await page.getByRole('option').first().waitFor();
  await page.unroute(/assets\/(query|codemirror)-/);
  await page.getByRole('tab', { name: 'Query', exact: true }).click();
  await page.getByRole('button', { name: 'Load the page anew' }).click();
  await page.getByRole('textbox', { name: 'Query' }).waitFor();
});

test('a view is fetched again after the connection failed', { patience: 60_000 }, async (page, context) => {
  await seed('kept', 'again', [{ id: '1', pk: 'a' }]);
  // A page of its own: the browser logs connections that fail.
  const other = await context.newPage();
  await openContainer(other, 'kept', 'again');
  await other.getByRole('option').first().waitFor();
  await other.route('**/assets/**', (route) => route.abort());
  await other.getByRole('tab', { name: 'Query', exact: true }).click();
  await other.getByText('This part of the page could not be loaded').waitFor();
  await other.unroute('**/assets/**');
  await other.getByRole('button', { name: 'Try again' }).click();
  await other.getByRole('button', { name: 'Run' }).waitFor();
  await other.getByRole('textbox', { name: 'Query' }).waitFor();
});
