import { useMemo } from 'react';
import { stringify } from '../lib/json_text';
import type { Json, JsonObject } from '../wire/types';
import { useWindow } from './virtual';

const ROW = 29;
const COLUMNS_MAX = 80;
const SAMPLE = 300;

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/// Columns in order of first appearance; a row that is no object is one column.
function columnsOf(rows: Json[]): string[] {
  const seen = new Set<string>();
  for (const row of rows.slice(0, SAMPLE)) {
    if (isObject(row)) Object.keys(row).forEach((name) => seen.add(name));
    else seen.add('value');
    if (seen.size >= COLUMNS_MAX) break;
  }
  const system = [...seen].filter((name) => /^_(rid|self|etag|attachments|ts)$/.test(name));
  return [...[...seen].filter((name) => !system.includes(name)), ...system].slice(0, COLUMNS_MAX);
}

const cell = (row: Json, column: string): Json | undefined => (isObject(row) ? row[column] : column === 'value' ? row : undefined);

export function Grid({ rows, label }: { rows: Json[]; label: string }) {
  const columns = useMemo(() => columnsOf(rows), [rows]);
  const widths = useMemo(
    () =>
      columns.map((column) => {
        let longest = column.length + 1;
        for (const row of rows.slice(0, 60)) longest = Math.max(longest, Math.min(46, stringify(cell(row, column)).length));
        return 22 + longest * 7.4;
      }),
    [columns, rows],
  );
  // A heading stands over its numbers.
  const numeric = useMemo(
    () => columns.map((column) => rows.slice(0, 60).map((row) => cell(row, column)).filter((v) => v !== undefined && v !== null).every((v) => typeof v === 'number' || typeof v === 'bigint')),
    [columns, rows],
  );
  const { ref, first, last } = useWindow(rows.length, ROW, ROW);
  return (
    <div className="grid" ref={ref} role="table" tabIndex={0} aria-label={label} aria-rowcount={rows.length + 1} aria-colcount={columns.length + 1}>
      <div role="rowgroup" className="thead-group">
        <div className="thead" role="row">
          <div className="th" role="columnheader" style={{ width: 62, textAlign: 'right' }}>#</div>
          {columns.map((column, i) => (
            <div key={column} className="th" role="columnheader" style={{ width: widths[i], textAlign: numeric[i] ? 'right' : undefined }} title={column}>{column}</div>
          ))}
        </div>
      </div>
      <div role="rowgroup" style={{ height: rows.length * ROW, position: 'relative' }}>
        {rows.slice(first, last).map((row, i) => (
          <div key={first + i} className="tr" role="row" aria-rowindex={first + i + 2} style={{ top: (first + i) * ROW }}>
            <div className="td n" role="cell" style={{ width: 62 }}>{first + i + 1}</div>
            {columns.map((column, c) => {
              const value = cell(row, column);
              const kind = typeof value === 'string' ? 'string' : typeof value === 'number' || typeof value === 'bigint' ? 'number' : 'other';
              const text = typeof value === 'string' ? value : stringify(value);
              return (
                <div key={column} className={`td ${kind}`} role="cell" style={{ width: widths[c] }} title={text.length > 30 ? text.slice(0, 500) : undefined}>
                  {text.slice(0, 300)}
                </div>
              );
            })}
          </div>
        ))}
      </div>
    </div>
  );
}
