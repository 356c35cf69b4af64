import { itemFromCells, parseCsv } from './csv';
import { elements } from './json_text';

export type Format = 'json' | 'jsonl' | 'csv';

const formatOf = (name: string, text: string): Format =>
  /\.csv$|\.tsv$/i.test(name) ? 'csv' : /\.(jsonl|ndjson)$/i.test(name) ? 'jsonl' : text.trimStart().startsWith('[') ? 'json' : /\n\s*\{/.test(text.trim()) && isLine(text) ? 'jsonl' : 'json';

const isLine = (text: string): boolean => {
  try {
    JSON.parse(text.slice(0, text.indexOf('\n')));
    return true;
  } catch {
    return false;
  }
};

/// A file that cannot be taken for what its name says; nothing of it was used.
export class FileProblem extends Error {}

/// The text of a file. Bytes that are not UTF-8 would be stored as question marks.
export function textOf(name: string, bytes: ArrayBuffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new FileProblem(`${name} is not UTF-8 text. Save it in that encoding (in a spreadsheet: “CSV UTF-8”).`);
  }
}

/// The items' texts in a file, in order.
export function itemsInFile(name: string, text: string): string[] {
  let found: string[];
  try {
    found = readItems(name, text);
  } catch (error) {
    throw new FileProblem(`${name}: ${(error as Error).message}.`);
  }
  if (found.length === 0) throw new FileProblem(`${name}: there are no items in it.`);
  return found;
}

function readItems(name: string, text: string): string[] {
  switch (formatOf(name, text)) {
    case 'json': {
      JSON.parse(text);
      return text.trimStart().startsWith('[') ? elements(text) : [text];
    }
    case 'jsonl':
      return text.split(/\r?\n/).filter((line) => line.trim() !== '');
    case 'csv': {
      const rows = [...parseCsv(text)];
      const header = (rows.shift() ?? []).map((name) => name.trim());
      const twice = header.find((column, i) => column !== '' && header.indexOf(column) !== i);
      if (twice !== undefined) throw new Error(`two columns are called “${twice}”`);
      return rows.map((cells, i) => {
        if (cells.length !== header.length) throw new Error(`row ${i + 1} below the header line has ${cells.length} fields, the header line ${header.length}`);
        return itemFromCells(header, cells);
      });
    }
  }
}
