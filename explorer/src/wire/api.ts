import { elements, members } from '../lib/json_text';
import { HOUSEKEEPING, type Answer, type Client } from './client';
import { keyHeader, pathExpression } from './key';
import type {
  Container, ContainerDefinition, Database, KeyValue, Offer, PartitionKeyDefinition, PkRange, Throughput, Usage,
} from './types';

type Body = Record<string, unknown>;

/// All pages of a feed.
async function listAll<T>(client: Client, segments: string[], array: string, signal?: AbortSignal): Promise<T[]> {
  const all: T[] = [];
  let continuation: string | null = null;
  do {
    const headers: Record<string, string> = { 'x-ms-max-item-count': '1000' };
    if (continuation) headers['x-ms-continuation'] = continuation;
    const answer: Answer = await client.request('GET', segments, { headers, signal });
    const body = JSON.parse(answer.text) as Body;
    all.push(...((body[array] as T[] | undefined) ?? []));
    continuation = answer.headers.get('x-ms-continuation');
  } while (continuation);
  return all;
}

export const listDatabases = (client: Client): Promise<Database[]> => listAll(client, ['dbs'], 'Databases');

export const listContainers = (client: Client, db: string): Promise<Container[]> =>
  listAll(client, ['dbs', db, 'colls'], 'DocumentCollections');

export const listOffers = (client: Client): Promise<Offer[]> => listAll(client, ['offers'], 'Offers');

export const listRanges = (client: Client, db: string, coll: string, signal?: AbortSignal): Promise<PkRange[]> =>
  listAll(client, ['dbs', db, 'colls', coll, 'pkranges'], 'PartitionKeyRanges', signal);

function throughputHeaders(throughput: Throughput): Record<string, string> {
  switch (throughput.mode) {
    case 'manual':
      return { 'x-ms-offer-throughput': String(throughput.ru) };
    case 'autoscale':
      return { 'x-ms-cosmos-offer-autopilot-settings': JSON.stringify({ maxThroughput: throughput.max }) };
    case 'none':
      return {};
  }
}

export async function createDatabase(client: Client, id: string, throughput: Throughput): Promise<Database> {
  const answer = await client.request('POST', ['dbs'], {
    body: JSON.stringify({ id }),
    headers: throughputHeaders(throughput),
  });
  return JSON.parse(answer.text) as Database;
}

export const deleteDatabase = (client: Client, db: string): Promise<Answer> => client.request('DELETE', ['dbs', db]);

export async function createContainer(
  client: Client,
  db: string,
  definition: ContainerDefinition,
  throughput: Throughput,
): Promise<Container> {
  const answer = await client.request('POST', ['dbs', db, 'colls'], {
    body: JSON.stringify(definition),
    headers: throughputHeaders(throughput),
  });
  return JSON.parse(answer.text) as Container;
}

export interface ContainerState {
  container: Container;
  usage: Usage | null;
  /// Percent of a change of the indexing policy; 100 when none is under way.
  indexProgress: number | null;
}

export async function readContainer(client: Client, db: string, coll: string, signal?: AbortSignal): Promise<ContainerState> {
  const answer = await client.request('GET', ['dbs', db, 'colls', coll], {
    headers: { 'x-ms-documentdb-populatequotainfo': 'true' },
    signal,
  });
  const progress = answer.headers.get('x-ms-documentdb-collection-index-transformation-progress');
  return {
    container: JSON.parse(answer.text) as Container,
    usage: usageOf(answer),
    indexProgress: progress === null ? null : Number(progress),
  };
}

export function usageOf(answer: Answer): Usage | null {
  const text = answer.headers.get('x-ms-resource-usage');
  if (!text) return null;
  const number = (name: string) => Number(new RegExp(`(?:^|;)${name}=(\\d+)`).exec(text)?.[1] ?? 0);
  return { items: number('documentsCount'), kilobytes: number('documentsSize') };
}

export async function replaceContainer(
  client: Client,
  db: string,
  definition: ContainerDefinition & { _etag?: string },
): Promise<Container> {
  const headers: Record<string, string> = {};
  if (definition._etag) headers['if-match'] = definition._etag;
  const answer = await client.request('PUT', ['dbs', db, 'colls', definition.id], {
    body: JSON.stringify(definition),
    headers,
  });
  return JSON.parse(answer.text) as Container;
}

export const deleteContainer = (client: Client, db: string, coll: string): Promise<Answer> =>
  client.request('DELETE', ['dbs', db, 'colls', coll]);

export interface OfferState {
  offer: Offer;
  minimum: number | null;
  pending: boolean;
}

/// The offer of a database or container; null when its throughput is somebody else's.
export async function readOffer(client: Client, resourceRid: string): Promise<OfferState | null> {
  const found = await client.request('POST', ['offers'], {
    body: JSON.stringify({
      query: 'SELECT * FROM root r WHERE r.offerResourceId = @rid',
      parameters: [{ name: '@rid', value: resourceRid }],
    }),
    headers: { 'content-type': 'application/query+json', 'x-ms-documentdb-isquery': 'true' },
  });
  const offers = (JSON.parse(found.text) as { Offers: Offer[] }).Offers;
  if (!offers[0]) return null;
  const answer = await client.request('GET', ['offers', offers[0]._rid]);
  return offerState(answer);
}

function offerState(answer: Answer): OfferState {
  const minimum = answer.headers.get('x-ms-cosmos-min-throughput');
  return {
    offer: JSON.parse(answer.text) as Offer,
    minimum: minimum === null ? null : Number(minimum),
    pending: answer.headers.get('x-ms-offer-replace-pending') === 'true',
  };
}

export const throughputOf = (offer: Offer): Throughput =>
  offer.content.offerAutopilotSettings
    ? { mode: 'autoscale', max: offer.content.offerAutopilotSettings.maxThroughput }
    : { mode: 'manual', ru: offer.content.offerThroughput };

/// Sets the throughput. A change between manual and autoscale is a step of its own, whose value the server decides.
export async function replaceOffer(client: Client, offer: Offer, wanted: Throughput): Promise<OfferState> {
  const put = async (body: Offer, headers: Record<string, string> = {}) =>
    offerState(await client.request('PUT', ['offers', body._rid], { body: JSON.stringify(body), headers }));
  const now = throughputOf(offer);
  let state: OfferState | null = null;
  if (now.mode !== wanted.mode && wanted.mode !== 'none')
    state = await put(offer, {
      [wanted.mode === 'autoscale'
        ? 'x-ms-cosmos-migrate-offer-to-autopilot'
        : 'x-ms-cosmos-migrate-offer-to-manual-throughput']: 'true',
    });
  const base = state?.offer ?? offer;
  const reached = throughputOf(base);
  if (JSON.stringify(reached) === JSON.stringify(wanted)) return state ?? (await put(offer));
  const content = { ...base.content };
  if (wanted.mode === 'manual') content.offerThroughput = wanted.ru;
  if (wanted.mode === 'autoscale') content.offerAutopilotSettings = { ...content.offerAutopilotSettings, maxThroughput: wanted.max };
  return put({ ...base, content });
}

// Items -----------------------------------------------------------------------------------------------------------

export interface ItemAnswer {
  text: string;
  etag: string;
  charge: number;
}

const itemAnswer = (answer: Answer): ItemAnswer => ({
  text: answer.text,
  etag: answer.headers.get('etag') ?? '',
  charge: answer.charge,
});

const docs = (db: string, coll: string, ...rest: string[]) => ['dbs', db, 'colls', coll, 'docs', ...rest];

export async function readItem(
  client: Client, db: string, coll: string, id: string, key: string, signal?: AbortSignal,
): Promise<ItemAnswer> {
  return itemAnswer(
    await client.request('GET', docs(db, coll, id), { headers: { 'x-ms-documentdb-partitionkey': key, ...HOUSEKEEPING }, signal }),
  );
}

export async function createItem(client: Client, db: string, coll: string, text: string, key: string): Promise<ItemAnswer> {
  return itemAnswer(
    await client.request('POST', docs(db, coll), { headers: { 'x-ms-documentdb-partitionkey': key }, body: text }),
  );
}

export async function replaceItem(
  client: Client, db: string, coll: string, id: string, key: string, text: string, etag: string,
): Promise<ItemAnswer> {
  return itemAnswer(
    await client.request('PUT', docs(db, coll, id), {
      headers: { 'x-ms-documentdb-partitionkey': key, 'if-match': etag },
      body: text,
    }),
  );
}

export const deleteItem = (
  client: Client, db: string, coll: string, id: string, key: string, etag?: string,
): Promise<Answer> =>
  client.request('DELETE', docs(db, coll, id), {
    headers: { 'x-ms-documentdb-partitionkey': key, ...(etag ? { 'if-match': etag } : {}) },
  });

export interface BulkOperation {
  operationType: 'Create' | 'Upsert' | 'Delete';
  id?: string;
  partitionKey: string;
  /// JSON text of the item, sent as it is.
  body?: string;
}

export interface BulkResult {
  statusCode: number;
  requestCharge?: number;
  retryAfterMilliseconds?: number;
  message?: string;
}

/// At most 100 operations, each on its own: one failing does not stop the others.
export async function bulk(
  client: Client, db: string, coll: string, operations: BulkOperation[], signal?: AbortSignal,
): Promise<BulkResult[]> {
  const body =
    '[' +
    operations
      .map((operation) => {
        const head = JSON.stringify({
          operationType: operation.operationType,
          ...(operation.id === undefined ? {} : { id: operation.id }),
          partitionKey: operation.partitionKey,
          minimalReturnPreference: true,
        });
        return operation.body === undefined ? head : `${head.slice(0, -1)},"resourceBody":${operation.body}}`;
      })
      .join(',') +
    ']';
  const answer = await client.request('POST', docs(db, coll), {
    headers: {
      'x-ms-cosmos-is-batch-request': 'true',
      'x-ms-cosmos-batch-atomic': 'false',
      'x-ms-cosmos-batch-continue-on-error': 'true',
    },
    body,
    signal,
  });
  return JSON.parse(answer.text) as BulkResult[];
}

// Queries ---------------------------------------------------------------------------------------------------------

export interface QueryParameter {
  name: string;
  value: unknown;
}

export interface QueryAsk {
  query: string;
  parameters?: QueryParameter[];
  pageSize?: number;
  continuation?: string | null;
  key?: string;
  reports?: boolean;
  /// Asked by the page, not by its user.
  housekeeping?: boolean;
  signal?: AbortSignal;
  onThrottled?: (waitMs: number) => void;
}

export interface QueryPage {
  /// The text of each row, exactly as the server sent it.
  rows: string[];
  continuation: string | null;
  charge: number;
  ms: number;
  headers: Headers;
}

export async function queryPage(client: Client, db: string, coll: string, ask: QueryAsk): Promise<QueryPage> {
  const headers: Record<string, string> = {
    'content-type': 'application/query+json',
    'x-ms-documentdb-isquery': 'true',
    'x-ms-documentdb-query-enablecrosspartition': 'true',
    'x-ms-max-item-count': String(ask.pageSize ?? 100),
  };
  if (ask.continuation) headers['x-ms-continuation'] = ask.continuation;
  if (ask.key !== undefined) headers['x-ms-documentdb-partitionkey'] = ask.key;
  if (ask.housekeeping) Object.assign(headers, HOUSEKEEPING);
  if (ask.reports) {
    headers['x-ms-documentdb-populatequerymetrics'] = 'true';
    headers['x-ms-cosmos-populateindexmetrics-V2'] = 'true';
    headers['x-orrery-explain'] = 'true';
    headers['x-orrery-explain-charge'] = 'true';
  }
  const answer = await client.request('POST', docs(db, coll), {
    headers,
    body: JSON.stringify({ query: ask.query, parameters: ask.parameters ?? [] }),
    signal: ask.signal,
    onThrottled: ask.onThrottled,
  });
  const list = members(answer.text).find((m) => m.name === 'Documents');
  return {
    rows: list ? elements(list.value) : [],
    continuation: answer.headers.get('x-ms-continuation'),
    charge: answer.charge,
    ms: answer.ms,
    headers: answer.headers,
  };
}

export interface ItemRow {
  id: string;
  key: KeyValue;
  ts: number;
}

/// The list of items: what a row of it shows and what addresses the item.
export function listQuery(definition: PartitionKeyDefinition, filter: string): string {
  const keys = definition.paths.map((path, i) => `, "k${i}": ${pathExpression(path)}`).join('');
  const tail = filter.trim();
  const clause = tail === '' || /^(where|order\s+by|join)\b/i.test(tail) ? tail : `WHERE ${tail}`;
  return `SELECT VALUE {"id": c.id, "ts": c._ts${keys}} FROM c${clause ? ' ' + clause : ''}`;
}

export function itemRow(text: string, definition: PartitionKeyDefinition): ItemRow {
  const row = JSON.parse(text) as Record<string, unknown>;
  return {
    id: String(row.id),
    ts: Number(row.ts),
    key: definition.paths.map((_, i) => {
      const value = row[`k${i}`];
      return typeof value === 'object' && value !== null ? undefined : (value as KeyValue[number]);
    }),
  };
}

export { keyHeader };
