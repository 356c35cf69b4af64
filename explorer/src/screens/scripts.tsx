import { useEffect, useState } from 'react';
import { useLoaded, useStore } from '../lib/hooks';
import { idProblem } from '../lib/policy';
import { guardLeaving, reportDirty } from '../route';
import { session } from '../session';
import { Button, Empty, ErrorNote, Segmented, Spinner } from '../ui/controls';
import { CodeEditor } from '../ui/code_editor';
import { ConfirmDelete } from '../ui/dialog';
import { Icon } from '../ui/icons';
import { Menu } from '../ui/menu';
import { Split } from '../ui/split';
import { toast } from '../ui/toast';
import { createScript, deleteScript, listScripts, replaceScript, type Script, type ScriptKind } from '../wire/scripts';
import type { PartitionKeyDefinition } from '../wire/types';
import type { ContainerProps } from './container_page';
import { TryScript } from './script_try';

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

export function Scripts({ db, container, refresh }: ContainerProps) {
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
                <button type="button" className="btn quiet" style={{ width: '100%', justifyContent: 'flex-start', borderRadius: 0 }}
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
        <ScriptEditor key={`${open.kind} ${open.script?.id ?? ''} ${open.serial}`} db={db} coll={coll} onRan={refresh} definition={container.partitionKey ?? { paths: [] }} kind={open.kind} script={open.script}
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

function ScriptEditor({ db, coll, kind, script, definition, onRan, onSaved, onDeleted }: {
  db: string;
  coll: string;
  kind: ScriptKind;
  script: Script | null;
  definition: PartitionKeyDefinition;
  onRan: () => void;
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
        <div className="grow row" style={{ flexBasis: 190, minWidth: 0 }}>
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
      {script ? <Split name="script-run" down initial={340} min={140} first={editor} second={<TryScript db={db} coll={coll} kind={kind} script={script} definition={definition} stale={changed} onRan={onRan} />} /> : editor}
      {drop && script && (
        <ConfirmDelete title={`Delete ${script.id}`} what={<>Programs that call it will fail. This cannot be undone.</>} onClose={() => setDrop(false)}
          onConfirm={async () => { await deleteScript(client, db, coll, kind, script.id); setDrop(false); onDeleted(); }} />
      )}
    </>
  );
}
