import { useEffect, useState } from 'react';
import { ru } from '../lib/format';
import { useLoaded, useStore, useStored } from '../lib/hooks';
import { pretty } from '../lib/json_text';
import { idProblem } from '../lib/policy';
import { guardLeaving, reportDirty } from '../route';
import { session } from '../session';
import { Button, Empty, ErrorNote, Segmented, Spinner, TextField } from '../ui/controls';
import { CodeEditor } from '../ui/code_editor';
import { ConfirmDelete } from '../ui/dialog';
import { Icon } from '../ui/icons';
import { Menu } from '../ui/menu';
import { Split } from '../ui/split';
import { toast } from '../ui/toast';
import { createScript, deleteScript, executeProcedure, listScripts, replaceScript, type Script, type ScriptKind } from '../wire/scripts';
import type { Json } from '../wire/types';
import type { ContainerProps } from './container_page';

const KINDS: { kind: ScriptKind; one: string; many: string }[] = [
  { kind: 'sprocs', one: 'Stored procedure', many: 'Stored procedures' },
  { kind: 'triggers', one: 'Trigger', many: 'Triggers' },
  { kind: 'udfs', one: 'User-defined function', many: 'User-defined functions' },
];

const STARTERS: Record<ScriptKind, string> = {
  sprocs: `function hello(name) {
  const context = getContext();
  console.log('called with ' + name);
  context.getResponse().setBody('Hello, ' + name);
}
`,
  triggers: `function validate() {
  const request = getContext().getRequest();
  const item = request.getBody();
  if (!item.createdAt) item.createdAt = new Date().toISOString();
  request.setBody(item);
}
`,
  udfs: `function tax(price) {
  return price * 0.081;
}
`,
};

type Open = { kind: ScriptKind; script: Script | null; serial: number };

export function Scripts({ db, container }: ContainerProps) {
  const client = useStore(session)!;
  const coll = container.id;
  const lists = useLoaded((signal) => Promise.all(KINDS.map(({ kind }) => listScripts(client, db, coll, kind, signal))), [db, coll]);
  const [open, setOpen] = useState<Open | null>(null);
  const list = (
    <div className="fill" style={{ background: 'var(--panel)', overflow: 'auto' }}>
      {lists.error !== null && <div style={{ padding: 12 }}><ErrorNote error={lists.error} retry={lists.reload} /></div>}
      {!lists.data && lists.loading && <div style={{ padding: 14 }}><Spinner /></div>}
      {lists.data && KINDS.map(({ kind, many, one }, i) => (
        <section key={kind} style={{ padding: '10px 0 4px' }}>
          <div className="row" style={{ padding: '0 12px' }}>
            <h3 className="grow" style={{ fontSize: 'var(--fs-1)', color: 'var(--text-2)' }}>{many}</h3>
            <Button small look="quiet" icon="plus" aria-label={`New ${one.toLowerCase()}`} onClick={() => setOpen({ kind, script: null, serial: Date.now() })} />
          </div>
          {lists.data![i]!.length === 0 && <p className="muted small" style={{ padding: '2px 12px' }}>None</p>}
          <ul>
            {lists.data![i]!.map((script) => (
              <li key={script.id}>
                <button type="button" className={`btn quiet${open?.script?.id === script.id && open.kind === kind ? ' primary' : ''}`} style={{ width: '100%', justifyContent: 'flex-start', borderRadius: 0 }}
                  aria-current={open?.script?.id === script.id && open.kind === kind} onClick={() => setOpen({ kind, script, serial: 0 })}>
                  <Icon name="script" size={14} /><span className="ellipsis mono">{script.id}</span>
                </button>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
  return (
    <Split name="scripts" stack initial={260} min={180} first={list}
      second={open ? (
        <ScriptEditor key={`${open.kind} ${open.script?.id ?? ''} ${open.serial}`} db={db} coll={coll} keyPaths={container.partitionKey?.paths ?? []} kind={open.kind} script={open.script}
          onSaved={(script) => { lists.reload(); setOpen({ kind: open.kind, script, serial: open.serial }); }}
          onDeleted={() => { lists.reload(); setOpen(null); }} />
      ) : (
        <div className="fill" style={{ background: 'var(--panel)' }}>
          <Empty icon="script" title="Code that runs in the server">
            <p className="muted">A stored procedure changes several items of one logical partition in one transaction. Triggers run with writes that name them, functions inside queries as <code>udf.name(…)</code>.</p>
            <Button look="primary" icon="plus" onClick={() => setOpen({ kind: 'sprocs', script: null, serial: Date.now() })}>New stored procedure</Button>
          </Empty>
        </div>
      )} />
  );
}

interface Run {
  body: string;
  log: string;
  charge: number;
  ms: number;
  error: unknown;
}

function ScriptEditor({ db, coll, kind, script, keyPaths, onSaved, onDeleted }: {
  db: string;
  coll: string;
  kind: ScriptKind;
  script: Script | null;
  keyPaths: string[];
  onSaved: (script: Script) => void;
  onDeleted: () => void;
}) {
  const client = useStore(session)!;
  const [id, setId] = useState(script?.id ?? '');
  const [body, setBody] = useState(script?.body ?? STARTERS[kind]);
  const [type, setType] = useState(script?.triggerType ?? 'Pre');
  const [operation, setOperation] = useState(script?.triggerOperation ?? 'All');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [drop, setDrop] = useState(false);
  const one = KINDS.find((k) => k.kind === kind)!.one;
  const changed = script === null ? body !== STARTERS[kind] || id !== '' : body !== script.body || type !== (script.triggerType ?? 'Pre') || operation !== (script.triggerOperation ?? 'All');
  useEffect(() => {
    const check = () => changed;
    const undo = [reportDirty(check), guardLeaving(() => !changed || confirm('The script has changes that are not saved. Leave them?'))];
    return () => undo.forEach((f) => f());
  }, [changed]);
  const save = async () => {
    if (busy || idProblem(id)) return;
    setBusy(true);
    setError(null);
    const next: Script = { id, body, ...(kind === 'triggers' ? { triggerType: type, triggerOperation: operation } : {}) };
    try {
      const stored = script === null ? await createScript(client, db, coll, kind, next) : await replaceScript(client, db, coll, kind, next, script._etag);
      toast(`${one} ${id} was saved.`);
      onSaved(stored);
    } catch (e) {
      setError(e);
    }
    setBusy(false);
  };
  const editor = (
    <div className="fill">
      <div className="toolbar">
        <div className="grow row">
          {script === null ? (
            <input className="input mono" style={{ maxWidth: 280 }} aria-label="Name" placeholder="Name" value={id} autoFocus spellCheck={false} onChange={(e) => setId(e.target.value)} />
          ) : <span className="mono ellipsis" style={{ fontWeight: 600 }}>{id}</span>}
          <span className="badge">{one}</span>
          {changed && <span className="badge warn">not saved</span>}
        </div>
        {kind === 'triggers' && (
          <>
            <Segmented small label="When" value={type} onChange={setType} options={[{ value: 'Pre', label: 'Before' }, { value: 'Post', label: 'After' }]} />
            <select className="select small" aria-label="Operation" value={operation} onChange={(e) => setOperation(e.target.value)}>
              {['All', 'Create', 'Update', 'Delete', 'Replace'].map((o) => <option key={o}>{o}</option>)}
            </select>
          </>
        )}
        <Button look="primary" icon="save" busy={busy} disabled={!id || (script !== null && !changed)} onClick={() => void save()}>Save</Button>
        {script && <Menu label="More actions" className="btn icon" trigger={<Icon name="more" />} entries={[{ label: 'Delete', icon: 'trash', danger: true, run: () => setDrop(true) }]} />}
      </div>
      {error !== null && <div style={{ padding: 12 }}><ErrorNote error={error} /></div>}
      <CodeEditor language="javascript" label="Script" value={body} onChange={setBody} onSave={() => void save()} />
    </div>
  );
  return (
    <>
      {kind === 'sprocs' && script ? <Split name="script-run" down initial={340} min={140} first={editor} second={<Execute db={db} coll={coll} id={script.id} keyPaths={keyPaths} stale={changed} />} /> : editor}
      {drop && script && (
        <ConfirmDelete title={`Delete ${script.id}`} what={<>Programs that call it will fail. This cannot be undone.</>} onClose={() => setDrop(false)}
          onConfirm={async () => { await deleteScript(client, db, coll, kind, script.id); setDrop(false); onDeleted(); }} />
      )}
    </>
  );
}

function Execute({ db, coll, id, keyPaths, stale }: { db: string; coll: string; id: string; keyPaths: string[]; stale: boolean }) {
  const client = useStore(session)!;
  const where = `${db}/${coll}/${id}`;
  const [key, setKey] = useStored(`sproc-key.${where}`, '');
  const [args, setArgs] = useStored(`sproc-args.${where}`, '[]');
  const [busy, setBusy] = useState(false);
  const [run, setRun] = useState<Run | null>(null);
  let problem: string | null = null;
  try {
    if (!Array.isArray(JSON.parse(args))) problem = 'A JSON array, such as ["name", 5].';
  } catch {
    problem = 'A JSON array, such as ["name", 5].';
  }
  const execute = async () => {
    if (busy || problem) return;
    setBusy(true);
    let parts: Json[];
    try {
      const value = JSON.parse(key) as Json;
      parts = Array.isArray(value) ? value : [value];
    } catch {
      parts = [key];
    }
    try {
      const answer = await executeProcedure(client, db, coll, id, parts, args);
      setRun({ ...answer, error: null });
    } catch (e) {
      setRun({ body: '', log: (e as { log?: string }).log ?? '', charge: 0, ms: 0, error: e });
    }
    setBusy(false);
  };
  let shown = run?.body ?? '';
  try {
    shown = shown ? pretty(shown) : '';
  } catch {
    // Not JSON: as it came.
  }
  return (
    <div className="fill" style={{ background: 'var(--panel)' }}>
      <form className="toolbar" style={{ alignItems: 'flex-end' }} onSubmit={(e) => { e.preventDefault(); void execute(); }}>
        <div style={{ width: 220 }}><TextField label={`Partition key (${keyPaths.join(' / ')})`} mono value={key} onChange={(e) => setKey(e.target.value)} placeholder={keyPaths.length > 1 ? '["a", "b"]' : 'value'} /></div>
        <div className="grow"><TextField label="Parameters" mono value={args} problem={problem} onChange={(e) => setArgs(e.target.value)} /></div>
        <Button type="submit" look="primary" icon="play" busy={busy} disabled={problem !== null}>Execute</Button>
      </form>
      {stale && <p className="small" style={{ padding: '6px 12px', color: 'var(--warn)' }}>The saved version runs, not the changes above.</p>}
      <div style={{ padding: 12, overflow: 'auto', flex: 1 }} tabIndex={0} role="region" aria-label="Result of the procedure" aria-live="polite">
        {run === null && <p className="muted">The result and what the procedure logged appear here.</p>}
        {run?.error !== null && run !== null && <ErrorNote error={run.error} />}
        {run && run.error === null && (
          <div className="col">
            <div className="facts num"><span><b>{ru(run.charge)}</b></span><span><b>{Math.round(run.ms)} ms</b></span></div>
            <div><span className="label">Result</span><pre className="mono" style={{ margin: '4px 0 0', whiteSpace: 'pre-wrap' }}>{shown || '(no body)'}</pre></div>
          </div>
        )}
        {run && run.log && <div style={{ marginTop: 12 }}><span className="label">Log</span><pre className="mono" style={{ margin: '4px 0 0', whiteSpace: 'pre-wrap' }}>{run.log}</pre></div>}
      </div>
    </div>
  );
}
