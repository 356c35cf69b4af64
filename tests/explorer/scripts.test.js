// Stored procedures, triggers and functions: written, changed, run with their logs, refused, deleted.
import { accessible, assert, openContainer, point, rest, seed, shot, test, write } from './harness.js';

const open = async (page, coll) => {
  await seed('scripts', coll, []);
  await openContainer(page, 'scripts', coll, 'scripts');
};
const create = async (page, kind, name, body) => {
  await page.getByRole('button', { name: `New ${kind}` }).last().click();
  await page.getByLabel('Name', { exact: true }).fill(name);
  await write(page, 'Script', body);
};
const save = async (page, what) => {
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText(`${what} was saved.`).last().waitFor();
  await page.getByText('not saved').waitFor({ state: 'hidden' });
};
const execute = (page) => page.getByRole('button', { name: 'Execute' }).click();
const result = (page, kind) => page.getByRole('region', { name: `Result of the ${kind}` });
const remove = async (page) => {
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByText('Code that runs in the server').waitFor();
};
const stored = async (coll, kind, id) => (await rest('GET', ['dbs', 'scripts', 'colls', coll, kind, id])).body;

test('a stored procedure is written, executed with its log, changed and deleted', { statuses: [400] }, async (page) => {
  await open(page, 'procedures');
  await page.getByText('Code that runs in the server').waitFor();
  await shot(page, 'scripts-empty');
  await create(page, 'stored procedure', 'hello', 'function (name) { console.log("called with " + name); getContext().getResponse().setBody({ text: "Hello, " + name }); }');
  await save(page, 'Stored procedure hello');
  await page.getByLabel(/^Partition key/).fill('a');
  await page.getByLabel('Parameters').fill('"Ann"');
  await page.getByText('A JSON array, such as ["name", 5].').waitFor();
  assert.ok(await page.getByRole('button', { name: 'Execute' }).isDisabled());
  await page.getByLabel('Parameters').fill('["Ann"]');
  await execute(page);
  await result(page, 'procedure').getByText('"text": "Hello, Ann"').waitFor();
  await result(page, 'procedure').getByText('called with Ann').waitFor();
  await result(page, 'procedure').getByText(/ RU$/).waitFor();
  await shot(page, 'scripts');
  await accessible(page);
  // What is stored runs, and the page says so; after saving the change runs.
  await write(page, 'Script', 'function () { console.log("before it broke"); throw new Error("broken on purpose"); }');
  await page.getByText('The saved version runs, not the changes above.').waitFor();
  await page.keyboard.press('Control+s');
  await page.getByText('not saved').waitFor({ state: 'hidden' });
  await execute(page);
  await result(page, 'procedure').getByText(/broken on purpose/).waitFor();
  await result(page, 'procedure').getByText('before it broke').waitFor();
  await shot(page, 'scripts-error');
  await accessible(page);
  await remove(page);
  assert.deepEqual((await rest('GET', ['dbs', 'scripts', 'colls', 'procedures', 'sprocs'])).body.StoredProcedures, []);
});

test('a procedure writes items of one logical partition', async (page) => {
  await open(page, 'writes');
  await create(page, 'stored procedure', 'fill', 'function (count) { const c = getContext().getCollection(); for (let i = 0; i < count; ++i) c.createDocument(c.getSelfLink(), { id: "made-" + i, pk: "a" }, (e) => { if (e) throw e; }); getContext().getResponse().setBody(count); }');
  await save(page, 'Stored procedure fill');
  await page.getByLabel(/^Partition key/).fill('a');
  await page.getByLabel('Parameters').fill('[3]');
  await execute(page);
  await result(page, 'procedure').getByText('3', { exact: true }).waitFor();
  for (const i of [0, 1, 2]) assert.equal((await rest('GET', ['dbs', 'scripts', 'colls', 'writes', 'docs', `made-${i}`], { headers: point('a') })).body.pk, 'a');
});

test('a trigger is written, tried on an item with its log, changed and deleted', { statuses: [400] }, async (page) => {
  await open(page, 'triggers');
  await create(page, 'trigger', 'stamp', 'function () { const r = getContext().getRequest(); const item = r.getBody(); if (!item.name) throw new Error("a name is needed"); console.log("stamped " + item.name); item.stamped = true; r.setBody(item); }');
  await page.getByLabel('Operation', { exact: true }).selectOption('Create');
  await save(page, 'Trigger stamp');
  const first = await stored('triggers', 'triggers', 'stamp');
  assert.equal(first.triggerType, 'Pre');
  assert.equal(first.triggerOperation, 'Create');
  assert.deepEqual(await page.getByLabel('Operation to try').locator('option').allTextContents(), ['Create']);
  await write(page, 'Item to write', '{"id":"one","pk":"a","name":"Ann"}');
  await execute(page);
  await result(page, 'trigger').getByText('"stamped": true').waitFor();
  await result(page, 'trigger').getByText('stamped Ann').waitFor();
  assert.equal((await rest('GET', ['dbs', 'scripts', 'colls', 'triggers', 'docs', 'one'], { headers: point('a') })).body.stamped, true);
  await shot(page, 'scripts-trigger');
  await accessible(page);
  await write(page, 'Item to write', '{"id":"two","pk":"a"}');
  await execute(page);
  await result(page, 'trigger').getByText(/a name is needed/).waitFor();
  await assert.rejects(rest('GET', ['dbs', 'scripts', 'colls', 'triggers', 'docs', 'two'], { headers: point('a') }), /404/);
  // After the write, of every kind.
  await page.getByRole('radio', { name: 'After' }).check({ force: true });
  await page.getByLabel('Operation', { exact: true }).selectOption('All');
  await write(page, 'Script', 'function () { console.log("after " + getContext().getRequest().getOperationType()); }');
  await save(page, 'Trigger stamp');
  const second = await stored('triggers', 'triggers', 'stamp');
  assert.equal(second.triggerType, 'Post');
  assert.equal(second.triggerOperation, 'All');
  await page.getByLabel('Operation to try').selectOption('Delete');
  await write(page, 'Item to write', '{"id":"one","pk":"a"}');
  await execute(page);
  await result(page, 'trigger').getByText('after Delete').waitFor();
  await assert.rejects(rest('GET', ['dbs', 'scripts', 'colls', 'triggers', 'docs', 'one'], { headers: point('a') }), /404/);
  await remove(page);
});

test('a function is written, tried, refused when it is no JavaScript, and called by a query', { statuses: [400] }, async (page) => {
  await open(page, 'functions');
  await create(page, 'user-defined function', 'tax', 'function tax(price) {');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('The server refused the request').waitFor();
  await shot(page, 'scripts-refused');
  await write(page, 'Script', 'function tax(price, rate) { if (price < 0) throw new Error("negative"); return { tax: price * rate }; }');
  await save(page, 'User-defined function tax');
  await page.getByLabel('Parameters').fill('[200, 0.5]');
  await execute(page);
  await result(page, 'function').getByText('"tax": 100').waitFor();
  await shot(page, 'scripts-function');
  await accessible(page);
  await page.getByLabel('Parameters').fill('[-1, 0.5]');
  await execute(page);
  await result(page, 'function').getByText(/negative/).waitFor();
  await rest('POST', ['dbs', 'scripts', 'colls', 'functions', 'docs'], { headers: point('a'), body: { id: 'one', pk: 'a', price: 30 } });
  await openContainer(page, 'scripts', 'functions', 'query');
  await write(page, 'Query', 'SELECT VALUE udf.tax(c.price, 0.1).tax FROM c');
  await page.keyboard.press('Control+Enter');
  await page.getByRole('cell', { name: '3', exact: true }).waitFor();
});

test('a change that somebody else made meanwhile is not overwritten', { statuses: [412] }, async (page) => {
  await open(page, 'both');
  await create(page, 'stored procedure', 'shared', 'function () { return 1; }');
  await save(page, 'Stored procedure shared');
  await rest('PUT', ['dbs', 'scripts', 'colls', 'both', 'sprocs', 'shared'], { body: { id: 'shared', body: 'function () { return 2; }' } });
  await write(page, 'Script', 'function () { return 3; }');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByRole('alert').waitFor();
  assert.match((await stored('both', 'sprocs', 'shared')).body, /return 2/);
  // Unsaved changes are not left without a question.
  const asked = new Promise((resolve) => page.once('dialog', async (dialog) => { await dialog.dismiss(); resolve(dialog.message()); }));
  await page.evaluate(() => { location.hash = '#/'; });
  assert.match(await asked, /not saved/);
  await page.getByRole('textbox', { name: 'Script' }).waitFor();
});

test('scripts on a narrow screen, in the dark', { viewport: { width: 390, height: 844 }, dark: true }, async (page) => {
  await open(page, 'narrow');
  await create(page, 'stored procedure', 'a-procedure-with-a-rather-long-name-that-does-not-fit', 'function () { getContext().getResponse().setBody("x".repeat(300)); }');
  await save(page, 'Stored procedure a-procedure-with-a-rather-long-name-that-does-not-fit');
  await page.getByLabel(/^Partition key/).fill('a');
  await execute(page);
  await result(page, 'procedure').getByText(/xxx/).waitFor();
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `the page is ${wide} px too wide`);
  await shot(page, 'scripts-narrow-dark');
  await accessible(page);
});
