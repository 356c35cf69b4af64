// A browser against a running server (ORRERY_ENDPOINT). Each test gets a page of its own, which fails the test when it logs
// an error, throws, breaks its own security policy, or asks anything of another origin.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, test as nodeTest } from 'node:test';
import { chromium } from 'playwright-core';

export const ENDPOINT = process.env.ORRERY_ENDPOINT;
assert.ok(ENDPOINT, 'ORRERY_ENDPOINT is not set: run tests/explorer/run.sh');
const SHOTS = process.env.ORRERY_SHOTS ?? 'build/explorer-shots';
export const KEY = 'C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==';
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
mkdirSync(SHOTS, { recursive: true });

let browser;
before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
});
after(() => browser?.close());

/// Statuses that the test provokes, whose resource errors the browser logs.
export function test(name, options, body) {
  if (typeof options === 'function') [options, body] = [{}, options];
  nodeTest(name, { skip: options.skip ?? false, timeout: options.timeout ?? 120_000 }, async () => {
    const context = await browser.newContext({
      viewport: options.viewport ?? { width: 1280, height: 720 },
      colorScheme: options.dark ? 'dark' : 'light',
      acceptDownloads: true,
      reducedMotion: 'reduce',
      baseURL: ENDPOINT,
    });
    const page = await context.newPage();
    page.setDefaultTimeout(options.patience ?? 30_000);
    const problems = [];
    const allowed = options.statuses ?? [];
    page.on('console', (message) => {
      if (message.type() !== 'error' && message.type() !== 'warning') return;
      const status = /status of (\d+)/.exec(message.text())?.[1];
      if (status && allowed.includes(Number(status))) return;
      problems.push(`console: ${message.text()}`);
    });
    page.on('pageerror', (error) => problems.push(`thrown: ${error.stack}`));
    page.on('request', (request) => {
      if (!request.url().startsWith(ENDPOINT) && !/^(blob|data):/.test(request.url())) problems.push(`foreign request: ${request.url()}`);
    });
    try {
      await body(page, context);
      assert.deepEqual(problems, []);
    } catch (error) {
      await page.screenshot({ path: `${SHOTS}/failed-${name.replace(/\W+/g, '-')}.png` }).catch(() => undefined);
      if (problems.length) error.message += `\nThe page said:\n${problems.join('\n')}`;
      throw error;
    } finally {
      await context.close();
    }
  });
}

export const shot = (page, name) => page.screenshot({ path: `${SHOTS}/${name}.png`, caret: 'initial' });

/// No violation of the accessibility rules (WCAG 2 A and AA).
export async function accessible(page) {
  // The page's policy forbids injected scripts, as it should; the debugger may.
  await page.evaluate(axeSource);
  const result = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa'] }));
  const found = result.violations.map((v) => `${v.id}: ${v.help}\n  ${v.nodes.map((n) => `${n.html.slice(0, 160)} ${n.failureSummary?.replace(/\s+/g, ' ').slice(0, 200)}`).join('\n  ')}`);
  assert.deepEqual(found, []);
}

/// The protocol from the test's side, for what the page does not do itself.
export async function rest(method, segments, { body, headers = {} } = {}) {
  const feed = segments.length % 2 === 1;
  const type = segments[segments.length - (feed ? 1 : 2)] ?? '';
  const link = (feed ? segments.slice(0, -1) : segments).join('/');
  const date = new Date().toUTCString();
  const text = `${method.toLowerCase()}\n${type}\n${link}\n${date.toLowerCase()}\n\n`;
  const signature = createHmac('sha256', Buffer.from(KEY, 'base64')).update(text).digest('base64');
  const response = await fetch(`${ENDPOINT}/${segments.map(encodeURIComponent).join('/')}`, {
    method,
    headers: {
      'x-ms-date': date, 'x-ms-version': '2020-07-15', 'content-type': 'application/json',
      authorization: encodeURIComponent(`type=master&ver=1.0&sig=${signature}`), ...headers,
    },
    body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
  });
  const answer = await response.text();
  if (response.status === 429) {
    await new Promise((resolve) => setTimeout(resolve, Number(response.headers.get('x-ms-retry-after-ms') ?? 50)));
    return rest(method, segments, { body, headers });
  }
  if (!response.ok) throw new Error(`${method} ${segments.join('/')}: ${response.status} ${answer}`);
  return { status: response.status, headers: response.headers, body: answer ? JSON.parse(answer) : null };
}

/// Whether the server takes what a page needs; a test of something that it refuses by name is left out.
export const offers = (...request) => rest(...request).then(() => true, (error) => !/is not supported/.test(error.message));

export const point = (key) => ({ 'x-ms-documentdb-partitionkey': JSON.stringify([key].flat()) });

/// A database with one container, and items in it.
export async function seed(db, coll, items, definition = {}) {
  await rest('POST', ['dbs'], { body: { id: db } }).catch(() => undefined);
  await rest('POST', ['dbs', db, 'colls'], { body: { id: coll, partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 }, ...definition }, headers: { 'x-ms-offer-throughput': '10000' } });
  for (let at = 0; at < items.length; at += 100)
    await rest('POST', ['dbs', db, 'colls', coll, 'docs'], {
      headers: { 'x-ms-cosmos-is-batch-request': 'true', 'x-ms-cosmos-batch-atomic': 'false', 'x-ms-cosmos-batch-continue-on-error': 'true' },
      body: items.slice(at, at + 100).map((item) => ({ operationType: 'Create', partitionKey: JSON.stringify([item.pk]), resourceBody: item, minimalReturnPreference: true })),
    });
}

export const openContainer = (page, db, coll, tab = 'items') => page.goto(`/_explorer/#/dbs/${encodeURIComponent(db)}/colls/${encodeURIComponent(coll)}/${tab}`);

/// Replaces the text of a code editor.
export async function write(page, label, text) {
  const editor = page.getByRole('textbox', { name: label, exact: true });
  await editor.click();
  await page.keyboard.press('Control+a');
  await page.keyboard.press('Delete');
  // As a paste: typing would let the editor close brackets by itself.
  await editor.evaluate((element, value) => {
    const data = new DataTransfer();
    data.setData('text/plain', value);
    element.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
  }, text);
}

export const read = (page, label) =>
  page.getByRole('textbox', { name: label, exact: true }).evaluate((element) => [...element.querySelectorAll('.cm-line')].map((l) => l.textContent).join('\n'));

export const text = (locator) => locator.innerText();
export { assert };
