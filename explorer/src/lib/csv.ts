import type { Json, JsonObject } from '../wire/types';
import { parse, stringify } from './json_text';

/// CSV as RFC 4180 has it, with a header line. Cells that are JSON (numbers, true, objects …) become values.

export function* parseCsv(text: string): Generator<string[]> {
  let row: string[] = [];
  let cell = '';
  let quoted = false;
  let opened = 0;
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
    } else if (c === '"' && cell === '') {
      quoted = true;
      opened = at;
    }
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
  if (quoted) throw new Error(`the quoted field that begins in line ${text.slice(0, opened).split(/\r\n|\r|\n/).length} is never closed`);
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

const SYSTEM = /^_(rid|self|etag|attachments|ts)$/;

/// Rows as CSV. Every member of every row has its column, in order of first appearance, the server's own at the end; so the header
/// line comes last, and lines wait as cells for the columns that later rows bring.
export class CsvText {
  private readonly columns = new Map<string, number>();
  private readonly lines: string[][] = [];
  size = 0;

  add(rows: string[]): void {
    for (const text of rows) {
      const row = parse(text);
      const cells: string[] = [];
      const put = (column: string, value: Json | undefined) => {
        if (!this.columns.has(column)) this.columns.set(column, this.columns.size);
        const cell = quote(typeof value === 'string' ? value : stringify(value));
        cells[this.columns.get(column)!] = cell;
        this.size += cell.length + 1;
      };
      if (isObject(row)) Object.entries(row).forEach(([name, value]) => put(name, value));
      else put('value', row);
      this.lines.push(cells);
    }
  }

  parts(): string[] {
    const names = [...this.columns.keys()];
    const order = [...names.filter((name) => !SYSTEM.test(name)), ...names.filter((name) => SYSTEM.test(name))];
    const places = order.map((name) => this.columns.get(name)!);
    const line = (cells: string[]) => cells.join(',') + '\r\n';
    return [line(order.map(quote)), ...this.lines.map((cells) => line(places.map((place) => cells[place] ?? '')))];
  }
}
