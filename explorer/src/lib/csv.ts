import type { Json, JsonObject } from '../wire/types';
import { stringify } from './json_text';

/// CSV as RFC 4180 has it, with a header line. Cells that are JSON (numbers, true, objects …) become values.

export function* parseCsv(text: string): Generator<string[]> {
  let row: string[] = [];
  let cell = '';
  let quoted = false;
  let at = text.charCodeAt(0) === 0xfeff ? 1 : 0;
  const separator = guessSeparator(text);
  for (; at < text.length; ++at) {
    const c = text[at]!;
    if (quoted) {
      if (c !== '"') cell += c;
      else if (text[at + 1] === '"') {
        cell += '"';
        ++at;
      } else quoted = false;
    } else if (c === '"' && cell === '') quoted = true;
    else if (c === separator) {
      row.push(cell);
      cell = '';
    } else if (c === '\n' || c === '\r') {
      if (c === '\r' && text[at + 1] === '\n') ++at;
      row.push(cell);
      cell = '';
      if (row.length > 1 || row[0] !== '') yield row;
      row = [];
    } else cell += c;
  }
  row.push(cell);
  if (row.length > 1 || row[0] !== '') yield row;
}

function guessSeparator(text: string): string {
  const line = text.slice(0, text.indexOf('\n') < 0 ? text.length : text.indexOf('\n'));
  const times = (c: string) => line.split(c).length;
  return times(';') > times(',') ? ';' : times('\t') > times(',') ? '\t' : ',';
}

const JSON_CELL = /^(-?\d+(\.\d+)?([eE][+-]?\d+)?|true|false|null|[[{].*)$/s;

/// Text of an item from a row: empty cells are left out, `id` stays a string, dots in the header nest.
export function itemFromCells(header: string[], cells: string[]): string {
  const item: JsonObject = {};
  header.forEach((name, i) => {
    const cell = cells[i] ?? '';
    if (cell === '' || name === '') return;
    let value: Json = cell;
    if (name !== 'id' && JSON_CELL.test(cell.trim()) && !/^-?0\d/.test(cell.trim())) {
      try {
        value = JSON.parse(cell) as Json;
        // Digits that a number would lose stay text.
        if (typeof value === 'number' && !/[.eE]/.test(cell) && !Number.isSafeInteger(value)) value = cell;
      } catch {
        value = cell;
      }
    }
    const path = name.split('.');
    let at = item;
    path.forEach((step, depth) => {
      if (depth === path.length - 1) at[step] = value;
      else {
        const next = at[step];
        at = (typeof next === 'object' && next !== null && !Array.isArray(next) ? next : (at[step] = {})) as JsonObject;
      }
    });
  });
  return stringify(item);
}

const quote = (text: string): string => (/[",\n\r;\t]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

const isObject = (value: Json | undefined): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

export function toCsv(rows: Json[], columns: string[], withHeader: boolean): string {
  let out = withHeader ? columns.map(quote).join(',') + '\r\n' : '';
  for (const row of rows) {
    const cells = columns.map((column) => {
      const value = isObject(row) ? row[column] : column === 'value' ? row : undefined;
      return quote(typeof value === 'string' ? value : stringify(value));
    });
    out += cells.join(',') + '\r\n';
  }
  return out;
}
