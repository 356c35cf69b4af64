import { useState } from 'react';
import { bytes, count, ru } from '../lib/format';
import { useStore } from '../lib/hooks';
import { withIndexes } from '../lib/policy';
import { session } from '../session';
import { Button, ErrorNote } from '../ui/controls';
import { CodeEditor } from '../ui/code_editor';
import { Dialog } from '../ui/dialog';
import { toast } from '../ui/toast';
import { readContainer, replaceContainer } from '../wire/api';
import type { Container, IndexingPolicy } from '../wire/types';
import { ChargeExplanation } from './charge_explanation';
import type { IndexUse, Reports } from './query_reports';

const TIMES: [string, string][] = [
  ['queryCompileTimeInMs', 'Compile'],
  ['queryPhysicalPlanBuildTimeInMs', 'Plan'],
  ['indexLookupTimeInMs', 'Index look-ups'],
  ['documentLoadTimeInMs', 'Loading items'],
  ['VMExecutionTimeInMs', 'Evaluate and write'],
];

const sum = (pages: Reports[], name: string): number => pages.reduce((n, p) => n + (p.metrics?.[name] ?? 0), 0);

function IndexList({ title, use }: { title: string; use: IndexUse | null }) {
  const lines = use ? [...use.singles, ...use.composites.map((c) => c.join(', '))] : [];
  return (
    <div className="col grow" style={{ gap: 4, minWidth: 220 }}>
      <span className="label">{title}</span>
      {lines.length === 0 ? <span className="muted">none</span> : <ul>{lines.map((line) => <li key={line}><code>{line}</code></li>)}</ul>}
    </div>
  );
}

export function CostView({ pages, container, db, onApplied }: { pages: Reports[]; container: Container; db: string; onApplied: () => void }) {
  const client = useStore(session)!;
  const [proposal, setProposal] = useState<{ policy: IndexingPolicy; base: Container } | null>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const potential = pages.find((p) => p.potential)?.potential ?? null;
  const utilized = pages.find((p) => p.utilized)?.utilized ?? null;
  const has = potential !== null && potential.singles.length + potential.composites.length > 0;
  const total = sum(pages, 'totalExecutionTimeInMs');
  const longest = Math.max(...TIMES.map(([name]) => sum(pages, name)), 0.01);
  const retrieved = sum(pages, 'retrievedDocumentCount');
  const output = sum(pages, 'outputDocumentCount');
  const propose = async () => {
    setError(null);
    try {
      const { container: base } = await readContainer(client, db, container.id);
      setProposal({ base, policy: withIndexes(base.indexingPolicy ?? {}, potential!.singles, potential!.composites) });
    } catch (e) {
      setError(e);
    }
  };
  const apply = async () => {
    if (!proposal) return;
    setBusy(true);
    setError(null);
    try {
      await replaceContainer(client, db, { ...proposal.base, indexingPolicy: proposal.policy });
      setProposal(null);
      toast('The index is being built; run the query again when the progress in the header is gone.');
      onApplied();
    } catch (e) {
      setError(e);
    }
    setBusy(false);
  };
  return (
    <div className="col" style={{ padding: 16, overflow: 'auto', gap: 20, flex: 1 }} tabIndex={0} role="region" aria-label="Cost and indexes">
      <section className="col" style={{ gap: 8 }}>
        <h3>Charge</h3>
        <div className="facts num">
          <span><b>{ru(pages.reduce((n, p) => n + p.charge, 0))}</b> in all</span>
          {pages.length > 1 && <span>{pages.map((p) => p.charge.toFixed(2)).slice(0, 12).join(' + ')}{pages.length > 12 ? ' + …' : ''}</span>}
          {output > 0 && <span><b>{(pages.reduce((n, p) => n + p.charge, 0) / output).toFixed(3)}</b> RU per row</span>}
        </div>
        <ChargeExplanation explanations={pages.map((p) => p.explanation)} />
      </section>
      {pages.some((p) => p.metrics) && (
        <section className="col" style={{ gap: 8 }}>
          <h3>Work on the server</h3>
          <div className="facts num">
            <span><b>{count(retrieved)}</b> items read ({bytes(sum(pages, 'retrievedDocumentSize'))})</span>
            <span><b>{count(output)}</b> rows returned ({bytes(sum(pages, 'outputDocumentSize'))})</span>
            {retrieved > 0 && <span><b>{Math.round((100 * Math.min(output, retrieved)) / retrieved)} %</b> of what was read was needed</span>}
          </div>
          <div className="kv num" style={{ maxWidth: 560 }}>
            {TIMES.map(([name, label]) => {
              const value = sum(pages, name);
              return [
                <span key={`${name}l`}>{label}</span>,
                <span key={`${name}b`}><span className="bar" style={{ display: 'block', width: `${(100 * value) / longest}%` }} /></span>,
                <span key={`${name}v`} style={{ textAlign: 'right' }}>{value.toFixed(2)} ms</span>,
              ];
            })}
            <b>Together</b><span /><b style={{ textAlign: 'right' }}>{total.toFixed(2)} ms</b>
          </div>
        </section>
      )}
      <section className="col" style={{ gap: 8 }}>
        <h3>Indexes</h3>
        {utilized === null && potential === null ? <p className="muted">The server reports indexes with pages that have rows.</p> : (
          <div className="row wrap" style={{ alignItems: 'flex-start', gap: 24 }}>
            <IndexList title="Used" use={utilized} />
            <div className="col grow" style={{ gap: 8 }}>
              <IndexList title="Would help" use={potential} />
              {has && <div><Button small icon="plus" onClick={() => void propose()}>Apply this index…</Button></div>}
            </div>
          </div>
        )}
        {error !== null && !proposal && <ErrorNote error={error} />}
      </section>
      {proposal && (
        <Dialog title="Change the indexing policy" onClose={() => setProposal(null)}
          footer={<><Button onClick={() => setProposal(null)}>Cancel</Button><Button look="primary" busy={busy} onClick={() => void apply()}>Apply</Button></>}>
          <p>The policy of <b>{container.id}</b> becomes this. The index is filled online; queries use it when it is complete.</p>
          <CodeEditor boxed height={280} language="json" label="New indexing policy" readOnly value={JSON.stringify(proposal.policy, null, 2)} />
          {error !== null && <ErrorNote error={error} />}
        </Dialog>
      )}
    </div>
  );
}
