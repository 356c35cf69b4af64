import { useEffect, useRef, useState } from 'react';
import { useStore } from '../lib/hooks';
import { computedProblems, policyProblems } from '../lib/policy';
import { guardLeaving, reportDirty } from '../route';
import { session } from '../session';
import { Button, ErrorNote, Note, Progress } from '../ui/controls';
import { CodeEditor } from '../ui/code_editor';
import { toast } from '../ui/toast';
import { replaceContainer } from '../wire/api';
import { WireError } from '../wire/error';
import type { ComputedProperty, Container, ContainerDefinition } from '../wire/types';
import type { ContainerProps } from './container_page';
import { ComputedEditor, DeleteContainer } from './dialogs';
import { OfferEditor } from './offer_editor';
import { RetentionField, retentionOf, retentionPolicy, retentionProblem, TtlField, ttlOf, ttlProblem, ttlValue, type Retention, type TtlChoice } from './throughput';

const policyText = (container: Container): string => JSON.stringify(container.indexingPolicy, null, 2);
const computedOf = (container: Container): ComputedProperty[] => container.computedProperties ?? [];
const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

export function Settings({ db, container, refresh, state }: ContainerProps) {
  const client = useStore(session)!;
  const [ttl, setTtl] = useState<TtlChoice>(ttlOf(container.defaultTtl));
  const [policy, setPolicy] = useState(() => policyText(container));
  const [computed, setComputed] = useState<ComputedProperty[]>(computedOf(container));
  const [retention, setRetention] = useState<Retention>(retentionOf(container.changeFeedPolicy));
  const [busy, setBusy] = useState('');
  const [error, setError] = useState<{ part: string; error: unknown } | null>(null);
  const [drop, setDrop] = useState(false);
  // A new version of the container replaces what nobody has touched; what is being edited stays.
  const before = useRef(container);
  useEffect(() => {
    const old = before.current;
    before.current = container;
    setTtl((t) => (same(t, ttlOf(old.defaultTtl)) ? ttlOf(container.defaultTtl) : t));
    setPolicy((p) => (p === policyText(old) ? policyText(container) : p));
    setComputed((c) => (same(c, computedOf(old)) ? computedOf(container) : c));
    setRetention((r) => (same(r, retentionOf(old.changeFeedPolicy)) ? retentionOf(container.changeFeedPolicy) : r));
  }, [container._etag]);
  useEffect(() => {
    if (state.indexProgress === null || state.indexProgress >= 100) return;
    const timer = setTimeout(refresh, 1000);
    return () => clearTimeout(timer);
  }, [state, refresh]);
  const save = async (part: string, change: Partial<ContainerDefinition>, without?: keyof ContainerDefinition) => {
    setBusy(part);
    setError(null);
    try {
      const next = { ...container, ...change };
      if (without) delete next[without];
      const stored = await replaceContainer(client, db, next);
      if (part === 'ttl') setTtl(ttlOf(stored.defaultTtl));
      if (part === 'policy') setPolicy(policyText(stored));
      if (part === 'computed') setComputed(computedOf(stored));
      if (part === 'feed') setRetention(retentionOf(stored.changeFeedPolicy));
      toast('The container was changed.');
      refresh();
    } catch (e) {
      // What the other one changed is read; a second attempt then keeps both.
      if (e instanceof WireError && e.status === 412) refresh();
      setError({ part, error: e });
    }
    setBusy('');
  };
  const failed = (part: string) => error?.part === part && (error.error instanceof WireError && error.error.status === 412
    ? <div role="alert"><Note kind="warn">Somebody else changed the container meanwhile, so nothing was saved. Their change has been read, and what you wrote is still here: look at both, then save again.</Note></div>
    : <ErrorNote error={error.error} />);
  const checked = policyProblems(policy);
  const policyChanged = policy !== policyText(container);
  const ttlChanged = ttlValue(ttl) !== container.defaultTtl;
  const computedChanged = !same(computed, computedOf(container));
  const retentionChanged = !same(retention, retentionOf(container.changeFeedPolicy));
  const unsaved = useRef(false);
  unsaved.current = policyChanged || ttlChanged || computedChanged || retentionChanged;
  useEffect(() => {
    const undo = [reportDirty(() => unsaved.current), guardLeaving(() => !unsaved.current || confirm('The settings have changes that are not saved. Leave them?'))];
    return () => undo.forEach((u) => u());
  }, []);
  const savePolicy = () => checked.problems.length === 0 && policyChanged && void save('policy', { indexingPolicy: checked.policy! });
  const unique = container.uniqueKeyPolicy?.uniqueKeys ?? [];
  return (
    <div className="page" tabIndex={-1}>
      <div className="inner">
        <div className="card">
          <section className="section">
            <h3>Throughput</h3>
            <OfferEditor rid={container._rid} absent="This container uses the throughput of its database." onChanged={refresh} />
          </section>
          <section className="section">
            <h3>Partition key</h3>
            <div className="facts">
              <span><b className="mono">{container.partitionKey?.paths.join(' / ')}</b></span>
              <span>{container.partitionKey?.kind === 'MultiHash' ? 'hierarchical' : `hash, version ${container.partitionKey?.version ?? 1}`}</span>
            </div>
            <p className="small muted">The key is fixed. To change it, create another container and copy the items (download, then upload).</p>
          </section>
          <section className="section">
            <h3>Time to live</h3>
            <TtlField headed value={ttl} onChange={setTtl} />
            {failed('ttl')}
            <div className="row">
              <Button look="primary" busy={busy === 'ttl'} disabled={!ttlChanged || ttlProblem(ttl) !== null}
                onClick={() => { const seconds = ttlValue(ttl); void (seconds === undefined ? save('ttl', {}, 'defaultTtl') : save('ttl', { defaultTtl: seconds })); }}>Save</Button>
            </div>
          </section>
          <section className="section">
            <div className="head"><h3>Indexing policy</h3>{policyChanged && <span className="badge warn">not saved</span>}</div>
            {state.indexProgress !== null && state.indexProgress < 100 && (
              <div className="col" style={{ gap: 4 }}><span className="small">The index is being changed: {state.indexProgress} %</span><Progress label="Change of the index" value={state.indexProgress} /></div>
            )}
            <CodeEditor boxed height={280} language="json" label="Indexing policy" value={policy} onChange={setPolicy} onSave={savePolicy} />
            {checked.problems.length > 0 && <ul className="small" style={{ color: 'var(--bad)' }}>{checked.problems.map((p) => <li key={p}>{p}</li>)}</ul>}
            {failed('policy')}
            <div className="row">
              <Button look="primary" busy={busy === 'policy'} disabled={!policyChanged || checked.problems.length > 0} onClick={savePolicy}>Save policy</Button>
              {policyChanged && <Button look="quiet" onClick={() => setPolicy(policyText(container))}>Revert</Button>}
            </div>
          </section>
          <section className="section">
            <ComputedEditor value={computed} onChange={setComputed} />
            {failed('computed')}
            <div className="row"><Button look="primary" busy={busy === 'computed'} disabled={!computedChanged || computedProblems(computed) !== null} onClick={() => void save('computed', { computedProperties: computed })}>Save computed properties</Button></div>
          </section>
          <section className="section">
            <h3>Change feed</h3>
            <RetentionField value={retention} onChange={setRetention} />
            {failed('feed')}
            <div className="row">
              <Button look="primary" busy={busy === 'feed'} disabled={!retentionChanged || retentionProblem(retention) !== null}
                onClick={() => void save('feed', { changeFeedPolicy: retentionPolicy(retention) })}>Save change feed policy</Button>
            </div>
          </section>
          <section className="section">
            <h3>Unique keys</h3>
            {unique.length === 0 ? <p className="muted">None. They can be set only when a container is created.</p> : <ul>{unique.map((u, i) => <li key={i}><code>{u.paths.join(' , ')}</code></li>)}</ul>}
          </section>
          <section className="section">
            <h3>Conflict resolution</h3>
            <p>{container.conflictResolutionPolicy?.mode === 'Custom' ? 'Custom procedure' : 'The last writer wins'}{container.conflictResolutionPolicy?.conflictResolutionPath ? <>, by <code>{container.conflictResolutionPolicy.conflictResolutionPath}</code></> : null}. <span className="muted">With one region there are no conflicts.</span></p>
          </section>
          <section className="section">
            <h3>Whole definition</h3>
            <CodeEditor boxed height={260} language="json" label="Definition of the container" readOnly value={JSON.stringify(container, null, 2)} />
          </section>
          <section className="section">
            <h3>Delete</h3>
            <div className="row"><Button look="danger" icon="trash" onClick={() => setDrop(true)}>Delete this container…</Button></div>
          </section>
        </div>
      </div>
      {drop && <DeleteContainer db={db} coll={container.id} onClose={() => setDrop(false)} />}
    </div>
  );
}
