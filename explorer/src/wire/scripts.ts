import { queryPage } from './api';
import type { Answer, Client } from './client';
import { scriptLog } from './error';
import { keyHeader, keyOf } from './key';
import type { JsonObject, KeyValue, PartitionKeyDefinition } from './types';

export type ScriptKind = 'sprocs' | 'triggers' | 'udfs';

export interface Script {
  id: string;
  body: string;
  triggerType?: string;
  triggerOperation?: string;
  _etag?: string;
}

const ARRAYS: Record<ScriptKind, string> = { sprocs: 'StoredProcedures', triggers: 'Triggers', udfs: 'UserDefinedFunctions' };

const path = (db: string, coll: string, kind: ScriptKind, ...rest: string[]) => ['dbs', db, 'colls', coll, kind, ...rest];

export async function listScripts(client: Client, db: string, coll: string, kind: ScriptKind, signal?: AbortSignal): Promise<Script[]> {
  const answer = await client.request('GET', path(db, coll, kind), { headers: { 'x-ms-max-item-count': '1000' }, ...(signal ? { signal } : {}) });
  return ((JSON.parse(answer.text) as Record<string, Script[]>)[ARRAYS[kind]] ?? []).sort((a, b) => a.id.localeCompare(b.id));
}

export async function createScript(client: Client, db: string, coll: string, kind: ScriptKind, script: Script): Promise<Script> {
  return JSON.parse((await client.request('POST', path(db, coll, kind), { body: JSON.stringify(script) })).text) as Script;
}

export async function replaceScript(client: Client, db: string, coll: string, kind: ScriptKind, script: Script, etag?: string): Promise<Script> {
  const answer = await client.request('PUT', path(db, coll, kind, script.id), { body: JSON.stringify(script), headers: etag ? { 'if-match': etag } : {} });
  return JSON.parse(answer.text) as Script;
}

export const deleteScript = (client: Client, db: string, coll: string, kind: ScriptKind, id: string) => client.request('DELETE', path(db, coll, kind, id));

export interface ScriptRun {
  body: string;
  log: string;
  charge: number;
  ms: number;
}

const runOf = (answer: Answer): ScriptRun => ({ body: answer.text, log: scriptLog(answer.headers), charge: answer.charge, ms: answer.ms });

/// Runs a stored procedure in one logical partition. `parameters` is a JSON array as text.
export const executeProcedure = async (client: Client, db: string, coll: string, id: string, key: KeyValue, parameters: string): Promise<ScriptRun> =>
  runOf(await client.request('POST', path(db, coll, 'sprocs', id), {
    body: parameters,
    headers: { 'x-ms-documentdb-partitionkey': keyHeader(key), 'x-ms-documentdb-script-enable-logging': 'true' },
  }));

/// Calls a function in a query that reads no items. `parameters` is a JSON array as text.
export async function callFunction(client: Client, db: string, coll: string, id: string, parameters: string): Promise<ScriptRun> {
  const values = JSON.parse(parameters) as unknown[];
  const page = await queryPage(client, db, coll, {
    query: `SELECT VALUE udf.${id}(${values.map((_, i) => `@p${i}`).join(', ')})`,
    parameters: values.map((value, i) => ({ name: `@p${i}`, value })),
  });
  return { body: page.rows[0] ?? 'undefined', log: '', charge: page.charge, ms: page.ms };
}

export type TriggeredWrite = 'Create' | 'Upsert' | 'Replace' | 'Delete';

/// Writes an item with a trigger, for real.
export async function writeWithTrigger(
  client: Client, db: string, coll: string, definition: PartitionKeyDefinition, trigger: Script, write: TriggeredWrite, text: string,
): Promise<ScriptRun> {
  const item = JSON.parse(text) as JsonObject;
  const headers: Record<string, string> = {
    'x-ms-documentdb-partitionkey': keyHeader(keyOf(item, definition), definition),
    'x-ms-documentdb-script-enable-logging': 'true',
    [trigger.triggerType === 'Post' ? 'x-ms-documentdb-post-trigger-include' : 'x-ms-documentdb-pre-trigger-include']: trigger.id,
  };
  const feed = ['dbs', db, 'colls', coll, 'docs'];
  const one = [...feed, String(item.id ?? '')];
  if (write === 'Delete') return runOf(await client.request('DELETE', one, { headers }));
  if (write === 'Replace') return runOf(await client.request('PUT', one, { headers, body: text }));
  if (write === 'Upsert') headers['x-ms-documentdb-is-upsert'] = 'true';
  return runOf(await client.request('POST', feed, { headers, body: text }));
}
