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

/// The items' texts in a file, in order.
export function itemsInFile(name: string, text: string): string[] {
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
      return rows.map((cells) => itemFromCells(header, cells));
    }
  }
}
