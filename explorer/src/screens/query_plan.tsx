import { count, plural, ru } from '../lib/format';
import { Empty } from '../ui/controls';
import type { PlanOperator, PlanStep, Reports } from './query_reports';

/// A page's plan: one lane per access of a range, then the clauses that the rows of all go through.
function Arrow({ rows, most }: { rows?: number; most: number }) {
  const height = Math.max(2, Math.round((14 * Math.log1p(rows ?? 0)) / Math.max(1, Math.log1p(most))));
  return (
    <div className="arrow num" aria-hidden="true">
      <span>{rows === undefined ? '\u00a0' : count(rows)}</span>
      <div className="bar" style={{ height }} />
      <span>&nbsp;</span>
    </div>
  );
}

function Lane({ step, total, most }: { step: PlanStep; total: number; most: number }) {
  const inIndex = step.access === 'index only';
  const wasteful = step.loaded > 50 && step.matched * 10 < step.loaded;
  const read = inIndex
    ? `${count(step.matched)} counted${step.loaded > 0 ? `, ${count(step.loaded)} of them asked` : ''}`
    : `${count(step.loaded)} loaded, ${count(step.matched)} match`;
  return (
    <li>
      {total > 1 && <div className="label" style={{ marginBottom: 4 }}>Range {step.range}</div>}
      <div className="flow" aria-label={`${step.access} ${step.on}: ${step.candidates} candidates, ${step.loaded} loaded, ${step.matched} matched`} role="group">
        <div className={`stage ${/scan/i.test(step.access) && !/index/i.test(step.access) ? 'costly' : 'source'}`}>
          <span className="kind">{step.access}</span>
          {step.on && <code>{step.on}</code>}
        </div>
        <Arrow rows={step.candidates} most={most} />
        <div className={`stage${wasteful ? ' costly' : ''}`}>
          <span className="kind">{inIndex ? 'The index has the answer' : 'Read items'}</span>
          <span className="small muted">{read}</span>
        </div>
      </div>
      {wasteful && <p className="small" style={{ color: 'var(--warn)', marginTop: 6 }}>Most items that were read did not match. An index on the filtered property would help: see “Cost and indexes”.</p>}
    </li>
  );
}

function Operators({ operators, most }: { operators: PlanOperator[]; most: number }) {
  const last = operators[operators.length - 1];
  if (!last) return null;
  const label = operators.map((one) => `${one.operator}${one.on ? ` ${one.on}` : ''}: ${one.in ?? 'unknown'} in, ${one.out ?? 'unknown'} out`).join('; ');
  return (
    <div className="flow" role="group" aria-label={label}>
      {operators.map((one, i) => [
        <Arrow key={`${i}a`} rows={one.in ?? operators[i - 1]?.out} most={most} />,
        <div key={`${i}s`} className="stage"><span className="kind">{one.operator}</span>{one.on && <code>{one.on}</code>}</div>,
      ])}
      <Arrow rows={last.out} most={most} />
    </div>
  );
}

export function PlanView({ pages }: { pages: Reports[] }) {
  const plan = pages[pages.length - 1]?.plan;
  if (!plan) return <Empty icon="script" title="No plan"><p className="muted">The server sent none with this page.</p></Empty>;
  const operators = plan.operators ?? [];
  const most = Math.max(1, ...plan.steps.flatMap((s) => [s.candidates, s.loaded, s.matched]), ...operators.flatMap((o) => [o.in ?? 0, o.out ?? 0]));
  return (
    <div className="plan" tabIndex={0} role="region" aria-label="Plan">
      <ol className="col" style={{ gap: 16 }}>
        {plan.steps.map((step, i) => <Lane key={i} step={step} total={plan.steps.length} most={most} />)}
      </ol>
      <Operators operators={operators} most={most} />
      <div className="row wrap" style={{ gap: 12 }}>
        <div className="stage source"><span className="kind">{plural(plan.rows, 'row')}</span><span className="small muted">of page {pages.length}, {ru(pages[pages.length - 1]!.charge)}</span></div>
        <div className="facts num">
          <span>compiled in <b>{(plan.compileUs / 1000).toFixed(2)} ms</b></span>
          <span>planned in <b>{(plan.planUs / 1000).toFixed(2)} ms</b></span>
          <span>index <b>{(plan.indexUs / 1000).toFixed(2)} ms</b></span>
          <span>loading <b>{(plan.loadUs / 1000).toFixed(2)} ms</b></span>
          <span>in all <b>{(plan.totalUs / 1000).toFixed(2)} ms</b></span>
        </div>
      </div>
      <div className="facts num">
        {plan.charged.map((work, i) => (
          <span key={i}>charged{plan.charged.length > 1 ? ` (range ${work.range})` : ''}: <b>{count(work.seeks)}</b> {work.seeks === 1 ? 'seek' : 'seeks'}, <b>{count(work.loadedItems)}</b> {work.loadedItems === 1 ? 'item' : 'items'}, <b>{count(work.indexEntries)}</b> index entries{work.joinTuples ? <>, <b>{count(work.joinTuples)}</b> JOIN tuples</> : null}</span>
        ))}
      </div>
    </div>
  );
}
