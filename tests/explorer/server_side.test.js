// What is measured in the server: partitions and their use; the change feed.
import { accessible, assert, offers, openContainer, point, rest, seed, shot, test } from './harness.js';

const items = Array.from({ length: 400 }, (_, i) => ({ id: `i${i}`, pk: `p${i % 9}`, n: i, text: 'x'.repeat(300) }));
await seed('server', 'probe', []);
const feed = await offers('GET', ['dbs', 'server', 'colls', 'probe', 'docs'], { headers: { 'A-IM': 'Incremental Feed', 'x-ms-documentdb-partitionkeyrangeid': '0' } });

test('partitions, heat, largest keys and the bill are those of the container', async (page) => {
  await seed('server', 'scale', items);
  await openContainer(page, 'server', 'scale', 'scale');
  await page.getByRole('heading', { name: '2 physical partitions' }).waitFor();
  const ranges = (await rest('GET', ['dbs', 'server', 'colls', 'scale', 'pkranges'])).body.PartitionKeyRanges;
  assert.equal(ranges.length, 2);
  for (const range of ranges) await page.getByRole('row', { name: new RegExp(`(^| )${range.id} `) }).first().waitFor();
  await page.getByText('by storage', { exact: false }).first().waitFor();
  await page.getByText('["p0"]').first().waitFor();
  await page.getByText('10,000 RU/s at $0.008 per 100 RU/s and hour').waitFor();
  await page.getByText('$584.00').first().waitFor();
  await page.waitForTimeout(400);
  await shot(page, 'scale');
  await accessible(page);
  await page.getByRole('heading', { name: 'Largest logical partitions' }).scrollIntoViewIfNeeded();
  await shot(page, 'scale-heat');
  await page.getByRole('heading', { name: 'What the bill would be' }).scrollIntoViewIfNeeded();
  await page.getByText('Serverless instead').scrollIntoViewIfNeeded();
  // The container is a few minutes old at most: the time before its first request is not counted.
  await page.getByText(/RU a month, if it goes on as in the (last minute|[1-9] minutes since the first request shown)/).waitFor();
  await shot(page, 'scale-bill');
  await page.getByRole('button', { name: 'Colours', exact: true }).click();
  await page.getByRole('menuitem', { name: 'Dark' }).click();
  await page.waitForTimeout(300);
  await shot(page, 'scale-dark');
  await accessible(page);
});

test('autoscale follows the load, partitions are split and merged with buttons', { patience: 60_000 }, async (page) => {
  await rest('POST', ['dbs', 'server', 'colls'], {
    body: { id: 'auto', partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 } },
    headers: { 'x-ms-cosmos-offer-autopilot-settings': '{"maxThroughput":4000}' },
  });
  for (const item of items.slice(0, 30)) await rest('POST', ['dbs', 'server', 'colls', 'auto', 'docs'], { headers: point(item.pk), body: item });
  await openContainer(page, 'server', 'auto', 'scale');
  await page.getByRole('heading', { name: 'Autoscale', exact: true }).scrollIntoViewIfNeeded();
  await page.getByText('400 to 4,000 RU/s').waitFor();
  await page.getByText('highest of this hour').waitFor();
  await page.getByText(/of at most 4,000 RU\/s at \$0\.012/).waitFor();
  await page.waitForTimeout(400);
  await shot(page, 'scale-autoscale');
  await accessible(page);
  await page.getByRole('heading', { name: '1 physical partition' }).scrollIntoViewIfNeeded();
  await page.getByLabel('Choose range 0').check();
  await page.getByRole('button', { name: 'Split…' }).click();
  await page.getByRole('dialog').getByRole('columnheader', { name: 'Keys from' }).waitFor();
  await shot(page, 'split');
  await accessible(page);
  await page.getByRole('dialog').getByRole('button', { name: 'Split', exact: true }).click();
  await page.getByRole('heading', { name: '2 physical partitions' }).waitFor();
  await page.getByText('split of 0 into 1 and 2').waitFor();
  assert.equal((await rest('GET', ['dbs', 'server', 'colls', 'auto', 'pkranges'])).body.PartitionKeyRanges.length, 2);
  await page.getByLabel('Choose range 1').check();
  await page.getByLabel('Choose range 2').check();
  await page.getByRole('button', { name: 'Merge…' }).click();
  await page.getByRole('dialog').getByRole('columnheader', { name: 'Keys from' }).waitFor();
  await shot(page, 'merge');
  await accessible(page);
  await page.getByRole('dialog').getByRole('button', { name: 'Merge', exact: true }).click();
  await page.getByRole('heading', { name: '1 physical partition', exact: true }).waitFor();
  await page.getByText('merge of 1 and 2 into 3').waitFor();
  const { body } = await rest('GET', ['dbs', 'server', 'colls', 'auto', 'pkranges']);
  assert.deepEqual(body.PartitionKeyRanges.map((range) => range.parents), [['0', '1', '2']]);
  const all = await rest('GET', ['dbs', 'server', 'colls', 'auto', 'docs'], { headers: { 'x-ms-max-item-count': '-1' } });
  assert.equal(all.body.Documents.length, 30);
});

test('the change feed shows writes as they happen', { skip: feed ? false : 'the server has no change feed' }, async (page) => {
  await seed('server', 'feed', [{ id: 'before', pk: 'a' }]);
  await openContainer(page, 'server', 'feed', 'feed');
  await page.getByRole('button', { name: 'Start watching' }).click();
  await page.getByText('Waiting for changes').waitFor();
  await page.waitForTimeout(1500);
  await rest('POST', ['dbs', 'server', 'colls', 'feed', 'docs'], { headers: point('b'), body: { id: 'live', pk: 'b' } });
  await page.getByRole('option', { name: /live/ }).click();
  assert.equal(await page.getByRole('option', { name: /before/ }).count(), 0);
  await page.getByRole('textbox', { name: 'Change' }).waitFor();
  await shot(page, 'feed');
  await accessible(page);
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByText('From the beginning').click();
  await page.getByRole('button', { name: 'Watch' }).click();
  await page.getByRole('option', { name: /before/ }).waitFor();
});
