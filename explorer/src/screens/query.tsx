import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { learnPaths, type PathInfo } from '../editor/sql';
import { count, milliseconds, plural, ru } from '../lib/format';
import { readStored, useStore, useStored, writeStored } from '../lib/hooks';
import type { Format } from '../lib/files';
import { parse, pretty } from '../lib/json_text';
import { session } from '../session';
import { Button, Empty, ErrorNote, Field, TextField } from '../ui/controls';
import { CodeEditor, type CodeHandle } from '../ui/code_editor';
import { Dialog } from '../ui/dialog';
import { Grid } from '../ui/grid';
import { Icon } from '../ui/icons';
import { JsonTree } from '../ui/json_tree';
import { Menu } from '../ui/menu';
import { Split } from '../ui/split';
import { Tabs } from '../ui/tabs';
import { toast } from '../ui/toast';
import { queryPage, type QueryParameter } from '../wire/api';
import { isAbort, WireError } from '../wire/error';
import type { Json } from '../wire/types';
import type { ContainerProps } from './container_page';
import { CostView } from './query_cost';
import { PlanView } from './query_plan';
import { readReports, type Reports } from './query_reports';
import { RowsFile } from './transfer';

type View = 'table' | 'json' | 'tree' | 'cost' | 'plan';

interface Parameter {
  name: string;
  value: string;
}

interface Kept {
  text: string;
  parameters: Parameter[];
}

interface Saved extends Kept {
  name: string;
}

interface Result {
  rows: string[];
  continuation: string | null;
  charge: number;
  ms: number;
  pages: Reports[];
  running: boolean;
  stopped: boolean;
  error: unknown;
  waits: number;
  /// `at`: where the query begins in the editor.
  asked: { query: string; at: number; parameters: QueryParameter[]; key: string | undefined };
}

const HISTORY_MAX = 40;
const JSON_ROWS_MAX = 2000;
const JSON_TEXT_MAX = 3_000_000;

const firstQuery = (): Kept => ({ text: 'SELECT * FROM c', parameters: [] });

const parameterProblem = (p: Parameter): string | null => {
  if (!/^@\w+$/.test(p.name)) return 'A name such as @status.';
  try {
    JSON.parse(p.value);
    return null;
  } catch {
    return 'A value is JSON: "text", 5, true, [1, 2].';
  }
};

export function Query({ db, container, refresh }: ContainerProps) {
  const client = useStore(session)!;
  const coll = container.id;
  const where = `${db}/${coll}`;
  const [text, setText] = useState(() => readStored(`query.${where}`, firstQuery()).text);
  const [parameters, setParameters] = useState<Parameter[]>(() => readStored(`query.${where}`, firstQuery()).parameters);
  const [history, setHistory] = useStored<Kept[]>(`history.${where}`, []);
  const [saved, setSaved] = useStored<Saved[]>('saved', []);
  const [pageSize, setPageSize] = useStored('page-size', 100);
  const [key, setKey] = useState('');
  const [more, setMore] = useState(parameters.length > 0);
  const [result, setResult] = useState<Result | null>(null);
  const [view, setView] = useStored<View>('query-view', 'table');
  const [naming, setNaming] = useState(false);
  const [paths, setPaths] = useState<PathInfo | null>(null);
  const editor = useRef<CodeHandle>(null);
  const control = useRef<AbortController | null>(null);

  useEffect(() => writeStored(`query.${where}`, { text, parameters }), [text, parameters, where]);
  useEffect(() => {
    // What completion offers comes from the container's own items.
    const stop = new AbortController();
    queryPage(client, db, coll, { query: 'SELECT TOP 60 * FROM c', pageSize: 60, signal: stop.signal, housekeeping: true }).then(
      (page) => setPaths(learnPaths(page.rows.map((row) => JSON.parse(row) as unknown))),
      () => undefined,
    );
    return () => stop.abort();
  }, [client, db, coll]);
  useEffect(() => () => control.current?.abort(), []);

  const running = result?.running ?? false;
  const fetchPages = useCallback(
    async (asked: Result['asked'], from: Result | null, all: boolean) => {
      const stop = (control.current = new AbortController());
      let now: Result = from
        ? { ...from, running: true, stopped: false, error: null }
        : { rows: [], continuation: null, charge: 0, ms: 0, pages: [], running: true, stopped: false, error: null, waits: 0, asked };
      setResult(now);
      try {
        do {
          const page = await queryPage(client, db, coll, {
            query: asked.query, parameters: asked.parameters, pageSize, continuation: now.continuation,
            ...(asked.key === undefined ? {} : { key: asked.key }), reports: true, signal: stop.signal,
            onThrottled: () => setResult((now = { ...now, waits: now.waits + 1 })),
          });
          now = {
            ...now, rows: now.rows.concat(page.rows), continuation: page.continuation, charge: now.charge + page.charge, ms: now.ms + page.ms,
            pages: [...now.pages, readReports(page)],
          };
          setResult(now);
          // An empty page with a continuation is legal: go on until there is something to show.
        } while (now.continuation && (all || now.rows.length === (from?.rows.length ?? 0)));
        setResult({ ...now, running: false });
      } catch (error) {
        if (isAbort(error)) setResult({ ...now, running: false, stopped: true });
        else {
          setResult({ ...now, running: false, error });
          if (error instanceof WireError)
            editor.current?.mark(error.details.flatMap((d) => (d.location ? [{ from: asked.at + d.location.start, to: asked.at + d.location.end, message: d.hint ? `${d.message} ${d.hint}` : d.message }] : [])));
        }
      }
    },
    [client, db, coll, pageSize],
  );

  const run = () => {
    if (running) return;
    const chosen = editor.current?.selection();
    const part = chosen?.text.trim();
    const query = part || text;
    const at = chosen && part ? chosen.from + chosen.text.indexOf(part) : 0;
    if (!query.trim()) return;
    if (parameters.some(parameterProblem)) {
      setMore(true);
      toast('A parameter is not complete.', { bad: true });
      return;
    }
    let keyText: string | undefined;
    if (key.trim()) {
      try {
        const value = JSON.parse(key) as Json;
        keyText = JSON.stringify(Array.isArray(value) ? value : [value]);
      } catch {
        keyText = JSON.stringify([key.trim()]);
      }
    }
    editor.current?.mark([]);
    const kept: Kept = { text: query, parameters };
    setHistory([kept, ...history.filter((h) => h.text !== query)].slice(0, HISTORY_MAX));
    const usable = parameters.map((p) => ({ name: p.name, value: JSON.parse(p.value) as unknown }));
    void fetchPages({ query, at, parameters: usable, key: keyText }, null, false);
  };
  const open = (kept: Kept) => {
    setText(kept.text);
    setParameters(kept.parameters);
    setMore(kept.parameters.length > 0);
    editor.current?.focus();
  };
  const exportAs = (format: Format) => {
    if (!result) return;
    const file = new RowsFile(format);
    file.add(result.rows);
    file.save(`${coll}-query`);
  };

  const top = (
    <div className="fill">
      <div className="toolbar">
        {running ? (
          <Button icon="stop" onClick={() => control.current?.abort()}>Stop</Button>
        ) : (
          <Button look="primary" icon="play" onClick={run} title="Ctrl Enter">Run</Button>
        )}
        <label className="row small muted" style={{ gap: 6 }}>Page
          <select className="select small" value={pageSize} onChange={(e) => setPageSize(Number(e.target.value))}>
            {[10, 50, 100, 500, 1000].map((n) => <option key={n} value={n}>{n}</option>)}
          </select>
        </label>
        <Button small look="quiet" aria-expanded={more} onClick={() => setMore(!more)}><Icon name={more ? 'down' : 'chevron'} size={12} />Parameters{parameters.length ? ` (${parameters.length})` : ''}</Button>
        <div className="row" style={{ gap: 0, marginLeft: 'auto' }}>
          <Menu label="History" className="btn quiet small" trigger={<><Icon name="clock" size={14} /><span className="hide-narrow">History</span></>} empty="Queries that you run appear here"
            entries={history.map((h) => ({ label: <code>{h.text.replace(/\s+/g, ' ').slice(0, 90)}</code>, hint: h.text, run: () => open(h) }))} />
          <Menu label="Saved queries" className="btn quiet small" trigger={<><Icon name="star" size={14} /><span className="hide-narrow">Saved</span></>}
            entries={[
              { label: 'Save this query…', icon: 'plus', run: () => setNaming(true) },
              ...(saved.length ? ['line' as const] : []),
              ...saved.map((s) => ({ label: s.name, hint: s.text, run: () => open(s) })),
              ...(saved.length ? ['line' as const, ...saved.map((s) => ({ label: `Forget ${s.name}`, danger: true, icon: 'trash' as const, run: () => setSaved(saved.filter((x) => x.name !== s.name)) }))] : []),
            ]} />
          <Menu label="Export the rows" className="btn quiet small" trigger={<><Icon name="download" size={14} /><span className="hide-narrow">Export</span></>}
            entries={result?.rows.length ? [{ label: 'JSON', run: () => exportAs('json') }, { label: 'JSONL', run: () => exportAs('jsonl') }, { label: 'CSV', run: () => exportAs('csv') }] : []} empty="Run a query first" />
        </div>
      </div>
      {more && <Parameters parameters={parameters} onChange={setParameters} keyValue={key} onKey={setKey} keyPaths={container.partitionKey?.paths ?? []} />}
      <CodeEditor language="sql" label="Query" value={text} onChange={setText} onRun={run} onSave={() => setNaming(true)} paths={paths} names={parameters.map((p) => p.name)} handle={editor} placeholder="SELECT * FROM c" autoFocus />
    </div>
  );
  return (
    <>
      <Split name="query" down initial={200} min={110} first={top}
        second={<Results result={result} view={view} setView={setView} container={container} db={db} refresh={refresh}
          onNext={(all) => result && void fetchPages(result.asked, result, all)} onStop={() => control.current?.abort()} />} />
      {naming && (
        <SaveDialog onClose={() => setNaming(false)} onSave={(name) => {
          setSaved([...saved.filter((s) => s.name !== name), { name, text, parameters }]);
          setNaming(false);
          toast('Saved in this browser.');
        }} />
      )}
    </>
  );
}

function SaveDialog({ onClose, onSave }: { onClose: () => void; onSave: (name: string) => void }) {
  const [name, setName] = useState('');
  return (
    <Dialog title="Save this query" onClose={onClose} onSubmit={() => name.trim() && onSave(name.trim())}
      footer={<><Button onClick={onClose}>Cancel</Button><Button look="primary" disabled={!name.trim()} onClick={() => onSave(name.trim())}>Save</Button></>}>
      <TextField label="Name" value={name} autoFocus onChange={(e) => setName(e.target.value)} hint="Kept in this browser, for all containers." />
    </Dialog>
  );
}

function Parameters({ parameters, onChange, keyValue, onKey, keyPaths }: {
  parameters: Parameter[];
  onChange: (list: Parameter[]) => void;
  keyValue: string;
  onKey: (key: string) => void;
  keyPaths: string[];
}) {
  const set = (i: number, change: Partial<Parameter>) => onChange(parameters.map((p, j) => (i === j ? { ...p, ...change } : p)));
  return (
    <div className="col" style={{ gap: 6, padding: '8px 12px', background: 'var(--panel-2)', borderBottom: '1px solid var(--line)', maxHeight: 200, overflow: 'auto' }}>
      {parameters.map((p, i) => (
        <div className="row" key={i}>
          <input className="input small mono" style={{ width: 130 }} aria-label={`Parameter ${i + 1}: name`} placeholder="@name" value={p.name} spellCheck={false} onChange={(e) => set(i, { name: e.target.value })} />
          <input className="input small mono" style={{ maxWidth: 360 }} aria-label={`Parameter ${i + 1}: value, JSON`} placeholder='"value"' value={p.value} spellCheck={false} aria-invalid={parameterProblem(p) !== null} onChange={(e) => set(i, { value: e.target.value })} />
          <Button small look="quiet" icon="close" aria-label={`Remove parameter ${i + 1}`} onClick={() => onChange(parameters.filter((_, j) => j !== i))} />
          {parameterProblem(p) && <span className="small muted">{parameterProblem(p)}</span>}
        </div>
      ))}
      <div className="row wrap">
        <Button small icon="plus" onClick={() => onChange([...parameters, { name: '@', value: '""' }])}>Parameter</Button>
        <Field label={`Only in one logical partition (${keyPaths.join(' / ')})`}>
          {(props) => <input {...props} className="input small mono" style={{ width: 240 }} placeholder={keyPaths.length > 1 ? '["a", "b"]' : 'value'} value={keyValue} spellCheck={false} onChange={(e) => onKey(e.target.value)} />}
        </Field>
      </div>
    </div>
  );
}

function Results({ result, view, setView, container, db, refresh, onNext, onStop }: {
  result: Result | null;
  view: View;
  setView: (view: View) => void;
  container: ContainerProps['container'];
  db: string;
  refresh: () => void;
  onNext: (all: boolean) => void;
  onStop: () => void;
}) {
  const rows = result?.rows;
  const values = useMemo(() => (rows ?? []).map((row) => parse(row)), [rows]);
  const jsonText = useMemo(() => {
    if (view !== 'json' || !rows) return '';
    let text = '[';
    let i = 0;
    for (; i < rows.length && i < JSON_ROWS_MAX && text.length < JSON_TEXT_MAX; ++i) text += (i ? ',' : '') + '\n  ' + pretty(rows[i]!, 1);
    return text + (rows.length ? '\n]' : ']') + (i < rows.length ? `\n\n// ${count(rows.length - i)} more rows: export them to see all` : '');
  }, [view, rows]);
  if (!result)
    return (
      <div className="fill" style={{ background: 'var(--panel)' }}>
        <Empty icon="play" title="Run a query">
          <p className="muted"><kbd>Ctrl Enter</kbd> runs it, or only the part that is selected. <kbd>Ctrl Space</kbd> completes paths of your items and functions.</p>
        </Empty>
      </div>
    );
  const last = result.pages[result.pages.length - 1];
  const waiting = result.running && result.pages.length === 0;
  return (
    <div className="fill" style={{ background: 'var(--panel)' }}>
      <div style={{ padding: '0 8px', borderBottom: '1px solid var(--line)', flex: 'none' }}>
        <Tabs small label="Result" panelId="result-panel" value={view} onChange={setView}
          tabs={[{ value: 'table', label: 'Table' }, { value: 'json', label: 'JSON' }, { value: 'tree', label: 'Tree' }, { value: 'cost', label: 'Cost and indexes' }, { value: 'plan', label: 'Plan' }]} />
      </div>
      <div className="fill" role="tabpanel" id="result-panel" aria-labelledby={`result-panel-${view}`}>
        {result.error !== null && <div style={{ padding: 12 }}><ErrorNote error={result.error} /></div>}
        {waiting && <div style={{ padding: 16 }}><span className="row muted" role="status"><span className="spinner" />Running…</span></div>}
        {result.pages.length > 0 && result.rows.length === 0 && (view === 'table' || view === 'json' || view === 'tree') && <Empty icon="search" title="No rows"><p className="muted">The query ran and found nothing.</p></Empty>}
        {result.rows.length > 0 && view === 'table' && <Grid rows={values} label="Rows" />}
        {result.rows.length > 0 && view === 'json' && <CodeEditor language="json" label="Rows as JSON" value={jsonText} readOnly lint={false} />}
        {result.rows.length > 0 && view === 'tree' && <JsonTree rows={values} label="Rows as a tree" />}
        {last && view === 'cost' && <CostView pages={result.pages} container={container} db={db} onApplied={refresh} />}
        {last && view === 'plan' && <PlanView pages={result.pages} />}
      </div>
      <div className="statusline num" aria-live="polite">
        {result.pages.length > 0 && (
          <>
            <span data-testid="row-count"><b>{plural(result.rows.length, 'row')}</b>{result.continuation ? ' so far' : ''}</span>
            <span title="Request Units of all pages"><b data-testid="charge">{ru(result.charge)}</b></span>
            <span>{milliseconds(result.ms)}</span>
            <span className="muted">{plural(result.pages.length, 'page')}</span>
          </>
        )}
        {result.waits > 0 && <span className="badge warn">waited {plural(result.waits, 'time')} for throughput</span>}
        {result.stopped && <span className="badge warn">stopped</span>}
        <span className="grow" />
        {result.running && result.pages.length > 0 && <><span className="spinner" /><Button small onClick={onStop}>Stop</Button></>}
        {!result.running && result.continuation && <><Button small onClick={() => onNext(false)}>Next page</Button><Button small look="quiet" onClick={() => onNext(true)}>All pages</Button></>}
        {!result.running && !result.continuation && result.pages.length > 0 && result.error === null && <span className="muted">End of the result</span>}
      </div>
    </div>
  );
}

