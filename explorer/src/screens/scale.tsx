import { useEffect, useMemo, useState } from 'react';
import { account } from '../account';
import { bytes, count, plural, ru } from '../lib/format';
import { useLoaded, useStore } from '../lib/hooks';
import { session } from '../session';
import { Button, ErrorNote, Segmented, Spinner } from '../ui/controls';
import { later } from '../ui/later';
import { Dialog } from '../ui/dialog';
import { toast } from '../ui/toast';
import { throughputOf } from '../wire/api';
import { WireError } from '../wire/error';
import {
  forecastMerge, forecastSplit, merge, readMetrics, readPartitions, readTopCharge, readTopStorage, split,
  type ContainerMetrics, type Forecast, type Partitions, type RangeUse,
} from '../wire/own';
import { AutoscaleCard } from './autoscale';
import type { ContainerProps } from './container_page';

const Chart = later(() => import('../ui/chart').then((m) => m.Chart));

const SECONDS = 120;
const RANGES_SHOWN = 200;

/// Where a range lies in the space of keys, as parts of one. Only the hashes of version 2 are evenly spread numbers.
function position(range: RangeUse, index: number, total: number, even: boolean): { from: number; to: number } {
  if (even) return { from: index / total, to: (index + 1) / total };
  const at = (epk: string, end: number) => (epk === '' ? 0 : epk === 'FF' ? end : Math.min(end, parseInt(epk.slice(0, 12).padEnd(12, '0'), 16) / 0x400000000000));
  return { from: at(range.minInclusive, 1), to: at(range.maxExclusive, 1) };
}

const heat = (share: number): string => `var(--heat-${share <= 0 ? 0 : share < 0.25 ? 1 : share < 0.6 ? 2 : share < 0.9 ? 3 : share < 1 ? 4 : 5})`;

const lastMinute = (range: RangeUse): { ruPerSecond: number; share: number; throttled: number } => {
  const recent = range.seconds.slice(-60);
  const charge = recent.reduce((n, s) => n + s[0], 0);
  const peak = Math.max(0, ...recent.map((s) => s[0]));
  return { ruPerSecond: charge / Math.max(1, recent.length), share: range.provisioned > 0 ? peak / range.provisioned : 0, throttled: recent.reduce((n, s) => n + s[2], 0) };
};

export function Scale({ db, container, refresh, state }: ContainerProps) {
  const client = useStore(session)!;
  const coll = container.id;
  const { offers } = useStore(account);
  const [minutes, setMinutes] = useState<'15' | '60' | '360'>('60');
  const metrics = useLoaded((signal) => readMetrics(client, db, coll, Number(minutes), SECONDS, signal), [db, coll, minutes]);
  const partitions = useLoaded((signal) => readPartitions(client, db, coll, signal), [db, coll]);
  const [change, setChange] = useState<{ kind: 'split' | 'merge'; ids: string[] } | null>(null);
  const [chosen, setChosen] = useState<string[]>([]);
  const running = partitions.data?.jobs.some((j) => j.phase !== 'done' && j.phase !== 'failed') ?? false;
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.hidden || !location.hash.endsWith('/scale')) return;
      metrics.reload();
      partitions.reload();
    }, running ? 1000 : 3000);
    return () => clearInterval(timer);
  }, [metrics.reload, partitions.reload, running]);
  useEffect(() => {
    if (!running) refresh();
  }, [running]);
  if (!metrics.data)
    return (
      <div className="page"><div className="inner">
        {metrics.error === null ? <Spinner /> : metrics.error instanceof WireError && metrics.error.status === 404 && !/container/.test(metrics.error.message)
          ? <ErrorNote error={new Error('This server does not keep metrics of its partitions.')} />
          : <ErrorNote error={metrics.error} retry={metrics.reload} />}
      </div></div>
    );
  const data = metrics.data;
  const offer = offers[container._rid];
  const autoscale = offer ? throughputOf(offer) : null;
  const neighbours = chosen.length === 2 && Math.abs(data.ranges.findIndex((r) => r.id === chosen[0]) - data.ranges.findIndex((r) => r.id === chosen[1])) === 1;
  return (
    <div className="page" tabIndex={0} role="region" aria-label="Scale">
      <div className="inner">
        <section className="card section" aria-labelledby="scale-partitions">
          <div className="head"><h2 id="scale-partitions" className="grow">{plural(data.ranges.length, 'physical partition')}</h2>
            {partitions.data && (
              <div className="row">
                <Button disabled={chosen.length !== 1 || running} onClick={() => setChange({ kind: 'split', ids: chosen })}>Split…</Button>
                <Button disabled={!neighbours || running} onClick={() => setChange({ kind: 'merge', ids: [...chosen].sort((a, b) => data.ranges.findIndex((r) => r.id === a) - data.ranges.findIndex((r) => r.id === b)) })}>Merge…</Button>
              </div>
            )}
          </div>
          <RangeBar data={data} even={container.partitionKey?.version !== 2} chosen={chosen} />
          <RangeTable data={data} partitions={partitions.data} chosen={chosen} onChoose={(id, on) => setChosen(on ? [...chosen, id].slice(-2) : chosen.filter((c) => c !== id))} />
          {partitions.data && partitions.data.jobs.length > 0 && <Jobs partitions={partitions.data} />}
        </section>
        <section className="card section" aria-labelledby="scale-live">
          <div className="head"><h2 id="scale-live">The last two minutes</h2></div>
          <LiveChart data={data} />
        </section>
        <section className="card section" aria-labelledby="scale-heat">
          <div className="head"><h2 id="scale-heat" className="grow">Heat</h2>
            <Segmented small label="Time" value={minutes} onChange={setMinutes} options={[{ value: '15', label: '15 min' }, { value: '60', label: '1 hour' }, { value: '360', label: '6 hours' }]} /></div>
          <HeatMap data={data} />
        </section>
        {autoscale?.mode === 'autoscale' && <AutoscaleCard db={db} coll={coll} data={data} maximum={autoscale.max} />}
        <TopKeys db={db} coll={coll} />
        <BillCard data={data} container={container} storageKb={state.usage?.kilobytes ?? 0} />
      </div>
      {change && <ChangeDialog db={db} coll={coll} change={change} onClose={(done) => { setChange(null); if (done) { setChosen([]); partitions.reload(); metrics.reload(); } }} />}
    </div>
  );
}

function RangeBar({ data, even, chosen }: { data: ContainerMetrics; even: boolean; chosen: string[] }) {
  return (
    <div className="ranges" role="img" aria-label={`Ranges of the key space: ${data.ranges.slice(0, 20).map((r) => `${r.id} with ${bytes(r.bytes)}`).join(', ')}`}>
      {data.ranges.map((range, i) => {
        const { from, to } = position(range, i, data.ranges.length, even);
        const use = lastMinute(range);
        return (
          <div key={range.id} className="range" style={{ width: `${100 * (to - from)}%`, background: use.share > 0 ? heat(use.share) : 'var(--heat-1)', outline: chosen.includes(range.id) ? '3px solid var(--accent)' : undefined, outlineOffset: -3, color: use.share >= 0.6 ? 'var(--panel)' : 'var(--text)' }}
            title={`${range.minInclusive || '(start)'} to ${range.maxExclusive}: ${count(range.items)} items, ${bytes(range.bytes)}`}>
            <b>{range.id}</b>
            <div className="ellipsis">{bytes(range.bytes)}</div>
          </div>
        );
      })}
    </div>
  );
}

function RangeTable({ data, partitions, chosen, onChoose }: { data: ContainerMetrics; partitions: Partitions | null; chosen: string[]; onChoose: (id: string, on: boolean) => void }) {
  const most = Math.max(1, ...data.ranges.map((r) => r.bytes));
  const limit = partitions?.limits.storageBytes ?? 0;
  return (
    <div style={{ overflow: 'auto', maxHeight: 340 }} tabIndex={0} role="region" aria-label="Partitions as a table">
      <table className="plain num">
        <thead><tr>{partitions && <th scope="col"><span className="sr">Choose</span></th>}<th scope="col">Range</th><th scope="col">Keys from</th><th scope="col">to</th><th scope="col">Items</th><th scope="col" style={{ width: '22%' }}>Storage</th><th scope="col" style={{ width: '22%' }}>RU/s, last minute</th><th scope="col">429</th></tr></thead>
        <tbody>
          {data.ranges.slice(0, RANGES_SHOWN).map((range) => {
            const use = lastMinute(range);
            return (
              <tr key={range.id}>
                {partitions && <td><input type="checkbox" aria-label={`Choose range ${range.id}`} checked={chosen.includes(range.id)} onChange={(e) => onChoose(range.id, e.target.checked)} /></td>}
                <th scope="row">{range.id}</th>
                <td className="mono small" title={range.minInclusive}>{range.minInclusive.slice(0, 8) || '(start)'}</td>
                <td className="mono small" title={range.maxExclusive}>{range.maxExclusive.slice(0, 8)}</td>
                <td>{count(range.items)}</td>
                <td><div className="meter"><div style={{ width: `${(100 * range.bytes) / (limit || most)}%` }} /></div><span className="small">{bytes(range.bytes)}{limit ? <span className="muted"> of {bytes(limit)}</span> : null}</span></td>
                <td><div className="meter"><div style={{ width: `${Math.min(100, 100 * use.share)}%`, background: heat(Math.max(0.3, use.share)) }} /></div><span className="small nowrap" title="Mean of the last minute, and its busiest second">{use.ruPerSecond.toFixed(1)} <span className="muted">of {count(Math.round(range.provisioned))}, peak {Math.round(100 * use.share)} %</span></span></td>
                <td>{use.throttled ? <span className="badge bad">{count(use.throttled)}</span> : '0'}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {data.ranges.length > RANGES_SHOWN && <p className="muted small">The first {RANGES_SHOWN} of {count(data.ranges.length)} are shown.</p>}
    </div>
  );
}

const PHASES: Record<string, string> = { waiting: 'waiting', waitingForIndex: 'waiting for the index', copying: 'copying', catchingUp: 'catching up', switching: 'switching over', done: 'done', failed: 'failed' };

function Jobs({ partitions }: { partitions: Partitions }) {
  return (
    <div className="col" style={{ gap: 6 }}>
      <span className="label">Splits and merges</span>
      <ul className="col" style={{ gap: 4 }}>
        {[...partitions.jobs].reverse().slice(0, 8).map((job) => (
          <li key={job.id} className="row wrap small">
            <span className={`badge ${job.phase === 'done' ? 'good' : job.phase === 'failed' ? 'bad' : 'accent'}`}>{PHASES[job.phase] ?? job.phase}</span>
            <span>{job.kind} of {job.rangeIds.join(' and ')}{job.newRangeIds.length ? ` into ${job.newRangeIds.join(' and ')}` : ''}{job.automatic ? ', by itself' : ''}</span>
            <span className="muted">{bytes(job.bytesCopied)} copied in {Math.round(job.copyMs)} ms{job.phase === 'done' ? `, writers waited ${job.pauseMs.toFixed(1)} ms` : ''}</span>
            {job.error && <span style={{ color: 'var(--bad)' }}>{job.error}</span>}
          </li>
        ))}
      </ul>
    </div>
  );
}

function LiveChart({ data }: { data: ContainerMetrics }) {
  const series = useMemo(() => {
    const length = Math.max(0, ...data.ranges.map((r) => r.seconds.length));
    const x = Array.from({ length }, (_, i) => data.firstSecond + i);
    const sum = (column: 0 | 2) => x.map((_, i) => data.ranges.reduce((n, r) => n + (r.seconds[i]?.[column] ?? 0), 0));
    return { x, charge: sum(0), throttled: sum(2) };
  }, [data]);
  const total = series.charge.reduce((a, b) => a + b, 0);
  const refused = series.throttled.reduce((a, b) => a + b, 0);
  return (
    <>
      <div className="facts num">
        <span><b>{(total / Math.max(1, series.x.length)).toFixed(1)} RU/s</b> on average</span>
        <span><b>{Math.max(0, ...series.charge).toFixed(1)} RU/s</b> at most</span>
        <span><b>{plural(refused, 'request')}</b> refused (429)</span>
      </div>
      <Chart x={series.x} lines={[{ label: 'RU/s', values: series.charge, color: '--accent' }, { label: '429 per second', values: series.throttled, color: '--bad' }]} label="Request Units per second and refused requests of the last two minutes" />
    </>
  );
}

function HeatMap({ data }: { data: ContainerMetrics }) {
  const ranges = data.ranges.slice(0, 64);
  const columns = ranges[0]?.minutes.length ?? 0;
  const height = Math.max(10, Math.min(26, 260 / Math.max(1, ranges.length)));
  const time = (i: number) => new Date((data.firstMinute + i * 60) * 1000).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
  const busiest = data.ranges.reduce((best, r) => Math.max(best, ...r.minutes.map((m) => m.normalized)), 0);
  return (
    <>
      <div style={{ display: 'flex', gap: 8 }}>
        <div aria-hidden="true">{ranges.map((r) => <div key={r.id} className="small muted num" style={{ height, lineHeight: `${height}px`, textAlign: 'right' }}>{ranges.length <= 24 || r === ranges[0] ? r.id : ''}</div>)}</div>
        <svg className="grow" height={height * ranges.length} preserveAspectRatio="none" viewBox={`0 0 ${Math.max(1, columns)} ${ranges.length}`} role="img" shapeRendering="crispEdges"
          aria-label={`Use of throughput by partition and minute; the busiest second reached ${Math.round(100 * busiest)} percent`}>
          {ranges.map((range, row) => range.minutes.map((minute, column) => (
            <rect key={`${range.id} ${column}`} x={column + 0.04} y={row + 0.05} width={0.92} height={0.9} style={{ fill: heat(minute.normalized) }}>
              <title>{`Partition ${range.id}, ${time(column)}: ${minute.charge} RU, busiest second ${Math.round(100 * minute.normalized)} %, ${minute.throttled} refused`}</title>
            </rect>
          )))}
        </svg>
      </div>
      <div className="row small muted" style={{ justifyContent: 'space-between' }}><span>{columns ? time(0) : ''}</span>
        <span className="row" style={{ gap: 4 }} aria-hidden="true">idle {[0, 0.1, 0.3, 0.7, 0.95, 1].map((s) => <i key={s} style={{ width: 16, height: 10, background: heat(s), display: 'inline-block', borderRadius: 2 }} />)} full</span>
        <span>now</span></div>
      {data.ranges.length > 64 && <p className="small muted">The first 64 partitions are drawn.</p>}
    </>
  );
}

function TopKeys({ db, coll }: { db: string; coll: string }) {
  const client = useStore(session)!;
  const charge = useLoaded((signal) => readTopCharge(client, db, coll, signal), [db, coll]);
  const storage = useLoaded((signal) => readTopStorage(client, db, coll, signal), [db, coll]);
  return (
    <section className="card section" aria-labelledby="scale-top">
      <div className="head"><h2 id="scale-top" className="grow">Largest logical partitions</h2><Button small look="quiet" icon="refresh" aria-label="Reload the rankings" onClick={() => { charge.reload(); storage.reload(); }} /></div>
      <div className="form-2 apart">
        <div className="col" style={{ gap: 6 }}>
          <span className="label">By Request Units, last 24 hours</span>
          {charge.error !== null && <ErrorNote error={charge.error} />}
          {charge.data?.keys.length === 0 && <span className="muted">Nothing was charged yet.</span>}
          <Ranking rows={(charge.data?.keys ?? []).map((k) => ({ key: k.key, value: k.charge, text: ru(k.charge) }))} total={charge.data?.total ?? 0} />
        </div>
        <div className="col" style={{ gap: 6 }}>
          <span className="label">By storage{storage.data ? `, of ${count(storage.data.logicalPartitions)}${storage.data.complete ? '' : ' seen so far'}` : ''}</span>
          {storage.error !== null && <ErrorNote error={storage.error} />}
          {storage.data?.keys.length === 0 && <span className="muted">No items yet.</span>}
          <Ranking rows={(storage.data?.keys ?? []).map((k) => ({ key: k.key, value: k.bytes, text: `${bytes(k.bytes)}, ${plural(k.items, 'item')}` }))} total={0} />
        </div>
      </div>
    </section>
  );
}

function Ranking({ rows, total }: { rows: { key: string; value: number; text: string }[]; total: number }) {
  const most = Math.max(1e-9, ...rows.map((r) => r.value));
  return (
    <ol className="col" style={{ gap: 4 }}>
      {rows.map((row) => (
        <li key={row.key}>
          <div className="row small"><span className="mono ellipsis grow" title={row.key}>{row.key}</span><span className="num nowrap">{row.text}{total > 0 ? <span className="muted"> · {row.value > 0 && row.value / total < 0.005 ? '< 1' : Math.round((100 * row.value) / total)} %</span> : null}</span></div>
          <div className="meter"><div style={{ width: `${(100 * row.value) / most}%` }} /></div>
        </li>
      ))}
    </ol>
  );
}

const HOURS = 730;

/// What the same throughput and storage would cost in the service, at its list prices for one region.
function BillCard({ data, container, storageKb }: { data: ContainerMetrics; container: ContainerProps['container']; storageKb: number }) {
  const { offers } = useStore(account);
  const offer = offers[container._rid];
  const throughput = offer ? throughputOf(offer) : null;
  const gb = storageKb / 1024 / 1024;
  const storage = gb * 0.25;
  const minutes = data.ranges[0]?.minutes.length ?? 0;
  const perMinute = Array.from({ length: minutes }, (_, i) => data.ranges.reduce((n, r) => n + (r.minutes[i]?.charge ?? 0), 0));
  const used = perMinute.reduce((n, charge) => n + charge, 0);
  // Minutes before the first request say nothing: the container, or the server, may not have been there.
  const first = perMinute.findIndex((charge) => charge > 0);
  const watched = first < 0 ? 0 : minutes - first;
  const monthly = watched > 0 ? (used / watched) * 60 * HOURS : 0;
  const peak = Math.max(0, ...Array.from({ length: minutes }, (_, i) => data.ranges.reduce((n, r) => n + (r.minutes[i]?.peak ?? 0), 0)));
  const lines: [string, string, number][] = [];
  if (throughput?.mode === 'manual') lines.push(['Manual throughput', `${count(throughput.ru)} RU/s at $0.008 per 100 RU/s and hour`, (throughput.ru / 100) * 0.008 * HOURS]);
  if (throughput?.mode === 'autoscale') {
    const low = throughput.max / 10;
    const at = Math.min(throughput.max, Math.max(low, peak));
    lines.push(['Autoscale, at the peak of the time shown', `${count(Math.round(at))} of at most ${count(throughput.max)} RU/s at $0.012 per 100 RU/s and hour`, (at / 100) * 0.012 * HOURS]);
  }
  lines.push(['Storage of items', `${gb < 0.01 ? gb.toFixed(5) : gb.toFixed(2)} GB at $0.25 per GB and month`, storage]);
  const serverless = (monthly / 1e6) * 0.25 + storage;
  return (
    <section className="card section" aria-labelledby="scale-bill">
      <h2 id="scale-bill">What the bill would be</h2>
      <p className="muted">This server costs nothing. In the service, one region, list prices, a month of {HOURS} hours:</p>
      <table className="plain num">
        <tbody>
          {lines.map(([what, how, dollars]) => <tr key={what}><th scope="row">{what}</th><td className="muted">{how}</td><td style={{ textAlign: 'right' }}>${dollars.toFixed(2)}</td></tr>)}
          <tr><th scope="row"><b>Together</b></th><td>{offer ? '' : 'Throughput is the database’s and not counted here'}</td><td style={{ textAlign: 'right' }}><b>${lines.reduce((n, l) => n + l[2], 0).toFixed(2)}</b></td></tr>
          <tr><th scope="row">Serverless instead</th><td className="muted">{count(Math.round(monthly))} RU a month{watched > 0 ? `, if it goes on as in the ${watched === 1 ? 'last minute' : `${watched} minutes since the first request shown`}` : ''}, at $0.25 per million</td><td style={{ textAlign: 'right' }}>${serverless.toFixed(2)}</td></tr>
        </tbody>
      </table>
    </section>
  );
}

function ChangeDialog({ db, coll, change, onClose }: { db: string; coll: string; change: { kind: 'split' | 'merge'; ids: string[] }; onClose: (done: boolean) => void }) {
  const client = useStore(session)!;
  const forecast = useLoaded<Forecast>(() => (change.kind === 'split' ? forecastSplit(client, db, coll, change.ids[0]!) : forecastMerge(client, db, coll, change.ids)), [db, coll, change]);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const run = async () => {
    setBusy(true);
    setError(null);
    try {
      await (change.kind === 'split' ? split(client, db, coll, change.ids[0]!) : merge(client, db, coll, change.ids));
      toast(`The ${change.kind} has started.`);
      onClose(true);
    } catch (e) {
      setError(e);
      setBusy(false);
    }
  };
  return (
    <Dialog title={change.kind === 'split' ? `Split partition ${change.ids[0]}` : `Merge partitions ${change.ids.join(' and ')}`} onClose={() => onClose(false)}
      footer={<><Button onClick={() => onClose(false)}>Cancel</Button><Button look="primary" busy={busy} disabled={!forecast.data} onClick={() => void run()}>{change.kind === 'split' ? 'Split' : 'Merge'}</Button></>}>
      <p>Items are copied in the background; reads and writes go on and wait only for the moment of the switch.</p>
      {forecast.loading && <Spinner label="Asking what it would give" />}
      {forecast.error !== null && <ErrorNote error={forecast.error} />}
      {forecast.data && (
        <table className="plain num"><thead><tr><th scope="col">Keys from</th><th scope="col">to</th><th scope="col">Items</th><th scope="col">Storage</th></tr></thead>
          <tbody>{forecast.data.ranges.map((r) => <tr key={r.minInclusive}><td className="mono">{r.minInclusive.slice(0, 12) || '(start)'}</td><td className="mono">{r.maxExclusive.slice(0, 12)}</td><td>{count(r.items)}</td><td>{bytes(r.bytes)}</td></tr>)}</tbody></table>
      )}
      {error !== null && <ErrorNote error={error} />}
    </Dialog>
  );
}
