import { elements, members } from '../lib/json_text';
import { HOUSEKEEPING, type Client } from './client';

export interface ChangesPage {
  /// Texts of the changes, oldest first; empty when nothing is new.
  changes: string[];
  etag: string;
  charge: number;
  more: boolean;
}

export type FeedMode = 'latest' | 'all';

/// One page of a range's changes after `etag`; null starts at the beginning, '*' now.
export async function readChanges(
  client: Client, db: string, coll: string, range: string, mode: FeedMode, etag: string | null, signal: AbortSignal,
): Promise<ChangesPage> {
  const headers: Record<string, string> = {
    ...HOUSEKEEPING,
    'a-im': mode === 'latest' ? 'Incremental Feed' : 'Full-Fidelity Feed',
    'x-ms-documentdb-partitionkeyrangeid': range,
    'x-ms-max-item-count': '200',
  };
  if (mode === 'all') headers['x-ms-cosmos-changefeed-wire-format-version'] = '2021-09-15';
  if (etag !== null) headers['if-none-match'] = etag;
  const answer = await client.request('GET', ['dbs', db, 'colls', coll, 'docs'], { headers, signal });
  const list = answer.status === 304 ? undefined : members(answer.text).find((m) => m.name === 'Documents');
  const changes = list ? elements(list.value) : [];
  return { changes, etag: answer.headers.get('etag') ?? etag ?? '', charge: answer.charge, more: answer.status !== 304 && changes.length > 0 };
}
