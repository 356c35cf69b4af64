import { useState, type ReactNode } from 'react';
import { ru } from '../lib/format';
import { useStore, useStored } from '../lib/hooks';
import { pretty } from '../lib/json_text';
import { session } from '../session';
import { Button, ErrorNote, TextField } from '../ui/controls';
import { CodeEditor } from '../ui/code_editor';
import { WireError } from '../wire/error';
import { callFunction, executeProcedure, writeWithTrigger, type Script, type ScriptKind, type ScriptRun, type TriggeredWrite } from '../wire/scripts';
import type { Json, JsonObject, PartitionKeyDefinition } from '../wire/types';

interface Props {
  db: string;
  coll: string;
  kind: ScriptKind;
  script: Script;
  definition: PartitionKeyDefinition;
  /// What is in the editor is not what is stored.
  stale: boolean;
  /// It may have written.
  onRan: () => void;
}

type Outcome = { run: ScriptRun; error?: undefined; log: string } | { run: null; error: unknown; log: string };

const NAMES: Record<ScriptKind, string> = { sprocs: 'procedure', triggers: 'trigger', udfs: 'function' };

/// Runs a stored script and shows its result, what it logged and what it cost.
export function TryScript(props: Props) {
  return props.kind === 'sprocs' ? <Procedure {...props} /> : props.kind === 'udfs' ? <Function {...props} /> : <Trigger {...props} />;
}

function useRun(call: () => Promise<ScriptRun>, onRan?: () => void) {
  const [busy, setBusy] = useState(false);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const run = async () => {
    if (busy) return;
    setBusy(true);
    try {
      const run = await call();
      setOutcome({ run, log: run.log });
    } catch (error) {
      setOutcome({ run: null, error, log: error instanceof WireError ? error.log : '' });
    }
    setBusy(false);
    onRan?.();
  };
  return { busy, outcome, run };
}

function parametersProblem(text: string): string | null {
  try {
    if (Array.isArray(JSON.parse(text))) return null;
  } catch {
    // Said below.
  }
  return 'A JSON array, such as ["name", 5].';
}

function Frame({ kind, stale, outcome, hint, form, onRun, children }: {
  kind: ScriptKind;
  stale: boolean;
  outcome: Outcome | null;
  hint: string;
  form: ReactNode;
  onRun: () => void;
  children?: ReactNode;
}) {
  const run = outcome?.run ?? null;
  let shown = run?.body ?? '';
  try {
    shown = shown ? pretty(shown) : '';
  } catch {
    // Not JSON: as it came.
  }
  return (
    <div className="fill" style={{ background: 'var(--panel)' }}>
      <form className="toolbar" style={{ alignItems: kind === 'triggers' ? 'center' : 'flex-end' }} onSubmit={(e) => { e.preventDefault(); onRun(); }}>{form}</form>
      {children}
      {stale && <p className="small" style={{ padding: '6px 12px', color: 'var(--warn)' }}>The saved version runs, not the changes above.</p>}
      <div style={{ padding: 12, overflow: 'auto', flex: 1, minHeight: 60 }} tabIndex={0} role="region" aria-label={`Result of the ${NAMES[kind]}`} aria-live="polite">
        {outcome === null && <p className="muted">{hint}</p>}
        {outcome && run === null && <ErrorNote error={outcome.error} />}
        {run && (
          <div className="col">
            <div className="facts num"><span><b>{ru(run.charge)}</b></span><span><b>{Math.round(run.ms)} ms</b></span></div>
            <div><span className="label">Result</span><pre className="mono" style={{ margin: '4px 0 0', whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>{shown || '(no body)'}</pre></div>
          </div>
        )}
        {outcome?.log && <div style={{ marginTop: 12 }}><span className="label">Log</span><pre className="mono" style={{ margin: '4px 0 0', whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>{outcome.log}</pre></div>}
      </div>
    </div>
  );
}

function Procedure({ db, coll, script, definition, stale, onRan }: Props) {
  const client = useStore(session)!;
  const where = `${db}/${coll}/${script.id}`;
  const [key, setKey] = useStored(`sproc-key.${where}`, '');
  const [args, setArgs] = useStored(`sproc-args.${where}`, '[]');
  const problem = parametersProblem(args);
  const { busy, outcome, run } = useRun(() => {
    let parts: Json[];
    try {
      const value = JSON.parse(key) as Json;
      parts = Array.isArray(value) ? value : [value];
    } catch {
      parts = [key];
    }
    return executeProcedure(client, db, coll, script.id, parts, args);
  }, onRan);
  return (
    <Frame kind="sprocs" stale={stale} outcome={outcome} hint="The result and what the procedure logged appear here." onRun={() => { if (!problem) void run(); }} form={
      <>
        <div style={{ flex: '1 1 160px', maxWidth: 260 }}><TextField label={`Partition key (${definition.paths.join(' / ')})`} mono value={key} onChange={(e) => setKey(e.target.value)} placeholder={definition.paths.length > 1 ? '["a", "b"]' : 'value'} /></div>
        <div style={{ flex: '3 1 190px' }}><TextField label="Parameters" mono value={args} problem={problem} onChange={(e) => setArgs(e.target.value)} /></div>
        <Button type="submit" look="primary" icon="play" busy={busy} disabled={problem !== null}>Execute</Button>
      </>
    } />
  );
}

function Function({ db, coll, script, stale }: Props) {
  const client = useStore(session)!;
  const [args, setArgs] = useStored(`udf-args.${db}/${coll}/${script.id}`, '[]');
  const problem = parametersProblem(args);
  const { busy, outcome, run } = useRun(() => callFunction(client, db, coll, script.id, args));
  return (
    <Frame kind="udfs" stale={stale} outcome={outcome} hint={`Queries call it as udf.${script.id}(…). What it returns for these parameters appears here.`} onRun={() => { if (!problem) void run(); }} form={
      <>
        <div style={{ flex: '3 1 190px' }}><TextField label="Parameters" mono value={args} problem={problem} onChange={(e) => setArgs(e.target.value)} /></div>
        <Button type="submit" look="primary" icon="play" busy={busy} disabled={problem !== null}>Execute</Button>
      </>
    } />
  );
}

/// Which writes a trigger belongs to.
const WRITES: Record<string, TriggeredWrite[]> = {
  All: ['Create', 'Upsert', 'Replace', 'Delete'],
  Create: ['Create'],
  Update: ['Upsert', 'Replace'],
  Delete: ['Delete'],
  Replace: ['Replace'],
};

function starterItem(definition: PartitionKeyDefinition): string {
  const item: JsonObject = { id: 'trigger-test' };
  for (const path of definition.paths) if (/^\/[^/"]+$/.test(path) && path !== '/id') item[path.slice(1)] = 'a';
  return JSON.stringify(item, null, 2);
}

function Trigger({ db, coll, script, definition, stale, onRan }: Props) {
  const client = useStore(session)!;
  const writes = WRITES[script.triggerOperation ?? 'All'] ?? WRITES.All!;
  const [chosen, setChosen] = useState<TriggeredWrite>(writes[0]!);
  const write = writes.includes(chosen) ? chosen : writes[0]!;
  const [text, setText] = useStored(`trigger-item.${db}/${coll}/${script.id}`, starterItem(definition));
  let problem: string | null = null;
  try {
    const item = JSON.parse(text) as Json;
    if (item === null || typeof item !== 'object' || Array.isArray(item)) problem = 'An item is a JSON object.';
  } catch {
    problem = 'This is not JSON yet.';
  }
  const { busy, outcome, run } = useRun(() => writeWithTrigger(client, db, coll, definition, script, write, text), onRan);
  return (
    <Frame kind="triggers" stale={stale} outcome={outcome} hint="The item as it was stored and what the trigger logged appear here." onRun={() => { if (!problem) void run(); }} form={
      <>
        <label className="row small">Operation
          <select className="select small" aria-label="Operation to try" value={write} onChange={(e) => setChosen(e.target.value as TriggeredWrite)}>
            {writes.map((one) => <option key={one}>{one}</option>)}
          </select>
        </label>
        <span className="grow small muted">{problem ?? 'This really writes to the container.'}</span>
        <Button type="submit" look="primary" icon="play" busy={busy} disabled={problem !== null}>Execute</Button>
      </>
    }>
      <div style={{ height: 110, display: 'flex', borderBottom: '1px solid var(--line)' }}>
        <CodeEditor language="json" label="Item to write" value={text} onChange={setText} />
      </div>
    </Frame>
  );
}
