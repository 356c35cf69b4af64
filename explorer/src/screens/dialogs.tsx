import { useState } from 'react';
import { account, loadAccount, loadContainers, setOpen } from '../account';
import { useStore } from '../lib/hooks';
import { computedProblems, DEFAULT_POLICY, idProblem, keyPathProblem, policyProblems } from '../lib/policy';
import { go, route } from '../route';
import { session } from '../session';
import { Button, Check, ErrorNote, Field, TextField } from '../ui/controls';
import { ConfirmDelete, Dialog } from '../ui/dialog';
import { CodeEditor } from '../ui/code_editor';
import { toast } from '../ui/toast';
import { createContainer, createDatabase, deleteContainer, deleteDatabase } from '../wire/api';
import type { ComputedProperty, ContainerDefinition, Throughput } from '../wire/types';
import { RetentionField, retentionPolicy, retentionProblem, ThroughputField, throughputProblem, TtlField, ttlProblem, ttlValue, type Retention, type TtlChoice } from './throughput';

export function NewDatabase({ onClose }: { onClose: () => void }) {
  const client = useStore(session)!;
  const [id, setId] = useState('');
  const [touched, setTouched] = useState(false);
  const [shared, setShared] = useState(false);
  const [throughput, setThroughput] = useState<Throughput>({ mode: 'autoscale', max: 1000 });
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const problem = idProblem(id);
  const submit = async () => {
    setTouched(true);
    if (problem || busy || (shared && throughputProblem(throughput))) return;
    setBusy(true);
    setError(null);
    try {
      await createDatabase(client, id, shared ? throughput : { mode: 'none' });
      await loadAccount();
      setOpen(id, true);
      onClose();
      go({ page: 'database', db: id });
      toast(`Database ${id} was created.`);
    } catch (e) {
      setError(e);
      setBusy(false);
    }
  };
  return (
    <Dialog title="New database" onClose={onClose} onSubmit={() => void submit()}
      footer={<><Button onClick={onClose}>Cancel</Button><Button look="primary" busy={busy} onClick={() => void submit()}>Create database</Button></>}>
      <TextField label="Name" value={id} autoFocus problem={touched ? problem : null} onChange={(e) => setId(e.target.value)} />
      <Check label="Throughput for the whole database, shared by its containers" checked={shared} onChange={setShared} />
      {shared && <ThroughputField value={throughput} onChange={setThroughput} />}
      {error !== null && <ErrorNote error={error} />}
    </Dialog>
  );
}

function PathList({ label, hint, paths, max, onChange, problem, add }: {
  label: string;
  hint: string;
  paths: string[];
  max: number;
  onChange: (paths: string[]) => void;
  problem: (path: string) => string | null;
  add: string;
}) {
  return (
    <fieldset className="col" style={{ gap: 6 }}>
      <legend className="label" style={{ marginBottom: 4 }}>{label}</legend>
      {paths.map((path, i) => (
        <div key={i}>
          <div className="row">
            <input className="input mono" aria-label={`${label}, level ${i + 1}`} value={path} spellCheck={false} aria-invalid={path !== '' && problem(path) !== null}
              placeholder={i === 0 ? '/tenantId' : '/userId'} onChange={(e) => onChange(paths.map((p, j) => (i === j ? e.target.value : p)))} />
            {paths.length > 1 && <Button look="quiet" icon="close" aria-label={`Remove level ${i + 1}`} onClick={() => onChange(paths.filter((_, j) => j !== i))} />}
          </div>
          {path !== '' && problem(path) && <div className="small" style={{ color: 'var(--bad)' }}>{problem(path)}</div>}
        </div>
      ))}
      <div className="row wrap">
        {paths.length < max && <Button small look="quiet" icon="plus" onClick={() => onChange([...paths, ''])}>{add}</Button>}
        <span className="small muted">{hint}</span>
      </div>
    </fieldset>
  );
}

export function NewContainer({ db, onClose }: { db: string; onClose: () => void }) {
  const client = useStore(session)!;
  const state = useStore(account);
  const rid = state.databases?.find((d) => d.id === db)?._rid;
  const sharedOffer = rid ? state.offers[rid] : undefined;
  const [id, setId] = useState('');
  const [touched, setTouched] = useState(false);
  const [paths, setPaths] = useState(['']);
  const [throughput, setThroughput] = useState<Throughput>(sharedOffer ? { mode: 'none' } : { mode: 'autoscale', max: 1000 });
  const [ttl, setTtl] = useState<TtlChoice>({ mode: 'off' });
  const [unique, setUnique] = useState<string[]>([]);
  const [policy, setPolicy] = useState(JSON.stringify(DEFAULT_POLICY, null, 2));
  const [computed, setComputed] = useState<ComputedProperty[]>([]);
  const [conflictPath, setConflictPath] = useState('/_ts');
  const [retention, setRetention] = useState<Retention>({ mode: 'latest' });
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const checked = policyProblems(policy);
  const uniqueProblem = unique.some((line) => line.split(',').some((p) => keyPathProblem(p.trim()))) ? 'Paths such as /email, separated by commas.' : null;
  const problems = [idProblem(id), ...paths.map(keyPathProblem), throughputProblem(throughput), ttlProblem(ttl), retentionProblem(retention), checked.problems[0] ?? null, computedProblems(computed), uniqueProblem];
  const submit = async () => {
    setTouched(true);
    if (busy || problems.some(Boolean)) return;
    setBusy(true);
    setError(null);
    const definition: ContainerDefinition = {
      id,
      partitionKey: { paths, kind: paths.length > 1 ? 'MultiHash' : 'Hash', version: 2 },
      indexingPolicy: checked.policy!,
      conflictResolutionPolicy: { mode: 'LastWriterWins', conflictResolutionPath: conflictPath || '/_ts' },
    };
    const seconds = ttlValue(ttl);
    if (seconds !== undefined) definition.defaultTtl = seconds;
    if (unique.length) definition.uniqueKeyPolicy = { uniqueKeys: unique.map((line) => ({ paths: line.split(',').map((p) => p.trim()) })) };
    if (computed.length) definition.computedProperties = computed;
    if (retention.mode === 'all') definition.changeFeedPolicy = retentionPolicy(retention);
    try {
      await createContainer(client, db, definition, throughput);
      await loadContainers(db);
      setOpen(db, true);
      onClose();
      go({ page: 'container', db, coll: id, tab: 'items' });
      toast(`Container ${id} was created.`);
    } catch (e) {
      setError(e);
      setBusy(false);
    }
  };
  return (
    <Dialog title={`New container in ${db}`} onClose={onClose} onSubmit={() => void submit()}
      footer={<><Button onClick={onClose}>Cancel</Button><Button look="primary" busy={busy} onClick={() => void submit()}>Create container</Button></>}>
      <TextField label="Name" value={id} autoFocus problem={touched ? idProblem(id) : null} onChange={(e) => setId(e.target.value)} />
      <PathList label="Partition key" paths={paths} max={3} onChange={setPaths} problem={keyPathProblem} add="Add a level"
        hint={paths.length > 1 ? 'Hierarchical: queries by a leading part stay local.' : 'A property with many values that most queries name. It cannot be changed later.'} />
      {touched && paths.some((p) => p === '') && <div className="small" style={{ color: 'var(--bad)' }}>The partition key needs a path such as /tenantId.</div>}
      <ThroughputField value={throughput} onChange={setThroughput} {...(sharedOffer ? { none: 'Share the database’s' } : {})} />
      <details>
        <summary className="label" style={{ cursor: 'pointer', padding: '4px 0' }}>Time to live, unique keys, indexing, computed properties, conflicts, change feed</summary>
        <div className="col" style={{ gap: 16, paddingTop: 10 }}>
          <TtlField value={ttl} onChange={setTtl} />
          <fieldset className="col" style={{ gap: 6 }}>
            <legend className="label" style={{ marginBottom: 4 }}>Unique keys</legend>
            {unique.map((line, i) => (
              <div className="row" key={i}>
                <input className="input mono" aria-label={`Unique key ${i + 1}: paths`} placeholder="/email or /first, /last" value={line} spellCheck={false}
                  onChange={(e) => setUnique(unique.map((u, j) => (i === j ? e.target.value : u)))} />
                <Button look="quiet" icon="close" aria-label={`Remove unique key ${i + 1}`} onClick={() => setUnique(unique.filter((_, j) => j !== i))} />
              </div>
            ))}
            {touched && uniqueProblem && <div className="small" style={{ color: 'var(--bad)' }}>{uniqueProblem}</div>}
            <div className="row"><Button small look="quiet" icon="plus" onClick={() => setUnique([...unique, ''])}>Add a unique key</Button>
              <span className="small muted">Unique within a logical partition. Fixed at creation.</span></div>
          </fieldset>
          <ComputedEditor value={computed} onChange={setComputed} />
          <Field label="Indexing policy" problem={checked.problems[0]} hint="What is not included costs less to write and more to search.">
            {() => <CodeEditor boxed height={190} language="json" label="Indexing policy" value={policy} onChange={setPolicy} />}
          </Field>
          <TextField label="Conflict resolution path" mono value={conflictPath} onChange={(e) => setConflictPath(e.target.value)}
            hint="The last writer wins: of two versions the one with the higher number at this path. One region never has conflicts." />
          <div className="col" style={{ gap: 4 }}><span className="label">Change feed</span><RetentionField value={retention} onChange={setRetention} /></div>
        </div>
      </details>
      {touched && problems.some(Boolean) && <div className="small" role="alert" style={{ color: 'var(--bad)' }}>{problems.find(Boolean)}</div>}
      {error !== null && <ErrorNote error={error} />}
    </Dialog>
  );
}

export function ComputedEditor({ value, onChange }: { value: ComputedProperty[]; onChange: (value: ComputedProperty[]) => void }) {
  const set = (i: number, change: Partial<ComputedProperty>) => onChange(value.map((p, j) => (i === j ? { ...p, ...change } : p)));
  return (
    <fieldset className="col" style={{ gap: 6 }}>
      <legend className="label" style={{ marginBottom: 4 }}>Computed properties</legend>
      {value.map((property, i) => (
        <div className="row" key={i}>
          <input className="input mono" style={{ width: 170, flex: 'none' }} aria-label={`Computed property ${i + 1}: name`} placeholder="lowerName" value={property.name} spellCheck={false} onChange={(e) => set(i, { name: e.target.value })} />
          <input className="input mono" aria-label={`Computed property ${i + 1}: query`} placeholder="SELECT VALUE LOWER(c.name) FROM c" value={property.query} spellCheck={false} onChange={(e) => set(i, { query: e.target.value })} />
          <Button look="quiet" icon="close" aria-label={`Remove computed property ${i + 1}`} onClick={() => onChange(value.filter((_, j) => j !== i))} />
        </div>
      ))}
      {value.length > 0 && computedProblems(value) && <div className="small" style={{ color: 'var(--bad)' }}>{computedProblems(value)}</div>}
      <div className="row"><Button small look="quiet" icon="plus" onClick={() => onChange([...value, { name: '', query: '' }])}>Add a computed property</Button></div>
    </fieldset>
  );
}

export function DeleteDatabase({ db, onClose }: { db: string; onClose: () => void }) {
  const client = useStore(session)!;
  return (
    <ConfirmDelete title={`Delete database ${db}`} name={db} onClose={onClose}
      what={<>All its containers and their items go with it. This cannot be undone.</>}
      onConfirm={async () => {
        await deleteDatabase(client, db);
        const at = route.get();
        if (at.page !== 'home' && at.db === db) go({ page: 'home' });
        onClose();
        toast(`Database ${db} was deleted.`);
        await loadAccount();
      }} />
  );
}

export function DeleteContainer({ db, coll, onClose }: { db: string; coll: string; onClose: () => void }) {
  const client = useStore(session)!;
  return (
    <ConfirmDelete title={`Delete container ${coll}`} name={coll} onClose={onClose}
      what={<>All items in <b>{db} / {coll}</b> go with it. This cannot be undone.</>}
      onConfirm={async () => {
        await deleteContainer(client, db, coll);
        const at = route.get();
        if (at.page === 'container' && at.db === db && at.coll === coll) go({ page: 'database', db });
        onClose();
        toast(`Container ${coll} was deleted.`);
        await loadContainers(db);
      }} />
  );
}
