import type { Client } from './client';
import { keyHeader } from './key';
import type { KeyValue } from './types';

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

/// Runs a stored procedure in one logical partition. `parameters` is a JSON array as text.
export async function executeProcedure(client: Client, db: string, coll: string, id: string, key: KeyValue, parameters: string) {
  const answer = await client.request('POST', path(db, coll, 'sprocs', id), {
    body: parameters,
    headers: { 'x-ms-documentdb-partitionkey': keyHeader(key), 'x-ms-documentdb-script-enable-logging': 'true' },
  });
  const log = answer.headers.get('x-ms-documentdb-script-log-results') ?? '';
  let text = log;
  try {
    text = decodeURIComponent(log.replaceAll('+', '%20'));
  } catch {
    // Not encoded: as it came.
  }
  return { body: answer.text, log: text, charge: answer.charge, ms: answer.ms };
}
