import type { Json, JsonObject, KeyValue, PartitionKeyDefinition } from './types';

/// "/a/b" and "/\"odd name\"/b" to their names.
export function pathNames(path: string): string[] {
  const names: string[] = [];
  let at = 0;
  while (at < path.length) {
    if (path[at] === '/') ++at;
    if (path[at] === '"') {
      const end = path.indexOf('"', at + 1);
      if (end < 0) return names;
      names.push(path.slice(at + 1, end));
      at = end + 1;
    } else {
      let end = path.indexOf('/', at);
      if (end < 0) end = path.length;
      if (end > at) names.push(path.slice(at, end));
      at = end;
    }
  }
  return names;
}

export const pathExpression = (path: string): string =>
  'c' + pathNames(path).map((name) => `[${JSON.stringify(name)}]`).join('');

export function valueAt(item: Json, path: string): Json | undefined {
  let value: Json | undefined = item;
  for (const name of pathNames(path)) {
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return undefined;
    value = (value as JsonObject)[name];
  }
  // Arrays and objects count as missing.
  return typeof value === 'object' && value !== null ? undefined : value;
}

export const keyOf = (item: Json, definition: PartitionKeyDefinition): KeyValue =>
  definition.paths.map((path) => valueAt(item, path));

/// ASCII JSON array, as the header wants it; {} stands for a missing value.
export function keyHeader(key: KeyValue, definition?: PartitionKeyDefinition): string {
  if (definition?.systemKey) return '[]';
  const text = '[' + key.map((v) => (v === undefined ? '{}' : typeof v === 'bigint' ? String(v) : JSON.stringify(v))).join(',') + ']';
  return text.replace(/[\u007f-\uffff]/g, (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
}

export const keyText = (key: KeyValue): string =>
  key.map((v) => (v === undefined ? '(none)' : typeof v === 'string' ? v : String(v))).join(' / ');
