import { useRef, useState } from 'react';
import { bytes, count, plural, ru } from '../lib/format';
import { CsvText } from '../lib/csv';
import { useStore } from '../lib/hooks';
import { FileProblem, itemsInFile, textOf, type Format } from '../lib/files';
import { withoutSystem } from '../lib/json_text';
import { session } from '../session';
import { Button, Check, ErrorNote, Field, Note, Progress, Segmented } from '../ui/controls';
import { Dialog } from '../ui/dialog';
import { bulk, queryPage, type BulkOperation } from '../wire/api';
import { isAbort } from '../wire/error';
import { keyHeader, keyOf } from '../wire/key';
import type { JsonObject, PartitionKeyDefinition } from '../wire/types';
import { saveFile } from './item_editor';

const BATCH = 100;
const BATCH_BYTES = 1_500_000;
const LANES = 4;
const PROBLEMS_MAX = 50;

interface UploadState {
  done: number;
  failed: number;
  total: number;
  charge: number;
  waits: number;
  problems: string[];
  running: boolean;
  stopped: boolean;
  seconds: number;
}

export function Upload({ db, coll, definition, onClose }: {
  db: string;
  coll: string;
  definition: PartitionKeyDefinition;
  onClose: (changed: boolean) => void;
}) {
  const client = useStore(session)!;
  const [files, setFiles] = useState<File[]>([]);
  const [mode, setMode] = useState<'Create' | 'Upsert'>('Upsert');
  const [state, setState] = useState<UploadState | null>(null);
  const [error, setError] = useState<unknown>(null);
  const control = useRef<AbortController | null>(null);
  const changed = (state?.done ?? 0) > 0;

  const run = async () => {
    setError(null);
    const began = performance.now();
    const work: UploadState = { done: 0, failed: 0, total: 0, charge: 0, waits: 0, problems: [], running: true, stopped: false, seconds: 0 };
    const stop = (control.current = new AbortController());
    let shown = 0;
    const show = (force = false) => {
      work.seconds = (performance.now() - began) / 1000;
      if (force || performance.now() - shown > 80) {
        shown = performance.now();
        setState({ ...work });
      }
    };
    const fail = (text: string) => {
      ++work.failed;
      if (work.problems.length < PROBLEMS_MAX) work.problems.push(text);
    };
    try {
      const operations: { operation: BulkOperation; name: string }[] = [];
      for (const file of files) {
        itemsInFile(file.name, textOf(file.name, await file.arrayBuffer())).forEach((text, i) => {
          ++work.total;
          const name = `${file.name}, item ${i + 1}`;
          try {
            let item = JSON.parse(text) as JsonObject;
            if (item === null || typeof item !== 'object' || Array.isArray(item)) throw new Error('not a JSON object');
            let body = withoutSystem(text);
            if (item.id === undefined) {
              const id = crypto.randomUUID();
              body = `{"id":"${id}"${body === '{}' ? '' : ','}${body.slice(1)}`;
              item = { ...item, id };
            }
            operations.push({ name, operation: { operationType: mode, partitionKey: keyHeader(keyOf(item, definition), definition), body } });
          } catch (e) {
            fail(`${name}: ${(e as Error).message}`);
          }
        });
      }
      show(true);
      let next = 0;
      const take = () => {
        const batch: typeof operations = [];
        let size = 0;
        while (next < operations.length && batch.length < BATCH) {
          size += operations[next]!.operation.body!.length;
          if (batch.length > 0 && size > BATCH_BYTES) break;
          batch.push(operations[next++]!);
        }
        return batch;
      };
      const lane = async () => {
        for (let batch = take(); batch.length > 0; batch = take()) {
          while (batch.length > 0) {
            const results = await bulk(client, db, coll, batch.map((b) => b.operation), stop.signal);
            const again: typeof batch = [];
            let wait = 0;
            results.forEach((result, i) => {
              work.charge += result.requestCharge ?? 0;
              if (result.statusCode === 429) {
                again.push(batch[i]!);
                wait = Math.max(wait, result.retryAfterMilliseconds ?? 100);
              } else if (result.statusCode >= 400) fail(`${batch[i]!.name}: ${result.statusCode === 409 ? 'an item with this id exists' : `${result.statusCode} ${result.message ?? ''}`}`);
              else ++work.done;
            });
            batch = again;
            if (batch.length > 0) {
              ++work.waits;
              await new Promise((resolve) => setTimeout(resolve, wait));
              if (stop.signal.aborted) throw new DOMException('stopped', 'AbortError');
            }
            show();
          }
        }
      };
      await Promise.all(Array.from({ length: LANES }, lane));
    } catch (e) {
      stop.abort();
      if (!isAbort(e)) setError(e);
      else work.stopped = true;
    }
    work.running = false;
    show(true);
  };
  const handled = state ? state.done + state.failed : 0;
  return (
    <Dialog title={`Upload items to ${coll}`} onClose={() => { control.current?.abort(); onClose(changed); }}
      footer={
        state?.running ? <Button onClick={() => control.current?.abort()}>Stop</Button> : (
          <>
            <Button onClick={() => onClose(changed)}>{state ? 'Close' : 'Cancel'}</Button>
            {!(state && !state.stopped && error === null) && <Button look="primary" icon="upload" disabled={files.length === 0} onClick={() => void run()}>Upload</Button>}
          </>
        )
      }>
      <Field label="Files" hint="JSON (one item or an array), JSONL (one item per line) or CSV with a header line. Items without an id get one.">
        {(props) => <input {...props} type="file" multiple accept=".json,.jsonl,.ndjson,.csv,.tsv,.txt" onChange={(e) => { setFiles([...(e.target.files ?? [])]); setState(null); setError(null); }} />}
      </Field>
      {files.length > 0 && <p className="small muted">{plural(files.length, 'file')}, {bytes(files.reduce((n, f) => n + f.size, 0))}</p>}
      <div className="field"><span className="label">Items that exist already</span>
        <Segmented label="Items that exist already" value={mode} onChange={setMode} options={[{ value: 'Upsert', label: 'Replace' }, { value: 'Create', label: 'Keep, report' }]} /></div>
      {state && !(error instanceof FileProblem) && (
        <div className="col" style={{ gap: 8 }}>
          <Progress label="Upload" value={state.total ? (100 * handled) / state.total : 0} />
          <div className="facts num" aria-live="polite">
            <span><b>{count(state.done)}</b> of {count(state.total)} stored</span>
            {state.failed > 0 && <span style={{ color: 'var(--bad)' }}><b style={{ color: 'inherit' }}>{count(state.failed)}</b> failed</span>}
            <span><b>{ru(state.charge)}</b></span>
            <span><b>{count(Math.round(state.done / Math.max(0.05, state.seconds)))}</b> items/s</span>
            {state.waits > 0 && <span>waited {plural(state.waits, 'time')} for throughput</span>}
          </div>
          {!state.running && state.stopped && <Note kind="warn">Stopped. What is stored stays stored.</Note>}
          {!state.running && !state.stopped && error === null && state.failed === 0 && <Note kind="good">Done.</Note>}
          {state.problems.length > 0 && (
            <ul className="small" style={{ maxHeight: 140, overflow: 'auto', color: 'var(--bad)' }} tabIndex={0} aria-label="Problems">
              {state.problems.map((problem, i) => <li key={i}>{problem}</li>)}
            </ul>
          )}
        </div>
      )}
      {error !== null && <ErrorNote error={error} />}
    </Dialog>
  );
}

/// Rows as a file, page by page. What CSV's header line says is known at the end.
export class RowsFile {
  private readonly parts: string[] = [];
  private readonly csv = new CsvText();
  private rows = 0;
  private written = 0;

  constructor(private readonly format: Format) {}

  add(rows: string[]): void {
    if (this.format === 'csv') this.csv.add(rows);
    else {
      const part = this.format === 'jsonl' ? rows.map((row) => row + '\n').join('') : rows.map((row, i) => (this.rows + i === 0 ? '' : ',\n') + row).join('');
      this.parts.push(part);
      this.written += part.length;
    }
    this.rows += rows.length;
  }

  get size(): number {
    return this.format === 'csv' ? this.csv.size : this.written;
  }

  save(name: string): void {
    const parts = this.format === 'csv' ? this.csv.parts() : this.format === 'json' ? ['[\n', ...this.parts, '\n]\n'] : this.parts;
    saveFile(`${name}.${this.format}`, parts, this.format === 'csv' ? 'text/csv' : 'application/json');
  }
}

export function Download({ db, coll, filter, total, onClose }: { db: string; coll: string; filter: string; total: number | null; onClose: () => void }) {
  const client = useStore(session)!;
  const [format, setFormat] = useState<Format>('jsonl');
  const [system, setSystem] = useState(false);
  const [state, setState] = useState<{ rows: number; size: number; charge: number; running: boolean } | null>(null);
  const [error, setError] = useState<unknown>(null);
  const control = useRef<AbortController | null>(null);
  const run = async () => {
    const stop = (control.current = new AbortController());
    setError(null);
    const file = new RowsFile(format);
    let rows = 0;
    let charge = 0;
    let continuation: string | null = null;
    const tail = filter.trim();
    const clause = tail === '' || /^(where|order\s+by|join)\b/i.test(tail) ? tail : `WHERE ${tail}`;
    try {
      do {
        const page = await queryPage(client, db, coll, { query: `SELECT * FROM c ${clause}`, pageSize: 1000, continuation, signal: stop.signal, housekeeping: true });
        const texts = system ? page.rows : page.rows.map(withoutSystem);
        file.add(texts);
        rows += texts.length;
        charge += page.charge;
        continuation = page.continuation;
        setState({ rows, size: file.size, charge, running: true });
      } while (continuation);
      file.save(coll);
    } catch (e) {
      if (!isAbort(e)) setError(e);
    }
    setState({ rows, size: file.size, charge, running: false });
  };
  return (
    <Dialog title={`Download items of ${coll}`} onClose={() => { control.current?.abort(); onClose(); }}
      footer={
        state?.running ? <Button onClick={() => control.current?.abort()}>Stop</Button> : (
          <><Button onClick={onClose}>{state ? 'Close' : 'Cancel'}</Button><Button look="primary" icon="download" onClick={() => void run()}>Download</Button></>
        )
      }>
      {filter && <Note>Only what matches <code>{filter}</code></Note>}
      <div className="field"><span className="label">Format</span>
        <Segmented label="Format" value={format} onChange={setFormat} options={[{ value: 'jsonl', label: 'JSONL' }, { value: 'json', label: 'JSON array' }, { value: 'csv', label: 'CSV' }]} /></div>
      <Check label="With system properties (_rid, _etag, _ts …)" checked={system} onChange={setSystem} />
      {state && (
        <div className="col" style={{ gap: 8 }}>
          {total !== null && total > 0 && <Progress label="Download" value={(100 * state.rows) / total} />}
          <div className="facts num" aria-live="polite"><span><b>{count(state.rows)}</b> {total !== null ? `of ${count(total)} ` : ''}items</span><span><b>{bytes(state.size)}</b></span><span><b>{ru(state.charge)}</b></span></div>
        </div>
      )}
      {error !== null && <ErrorNote error={error} retry={() => void run()} />}
    </Dialog>
  );
}
