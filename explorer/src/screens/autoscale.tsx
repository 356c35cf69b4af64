import { useMemo } from 'react';
import { scaledAt } from '../lib/autoscale';
import { count } from '../lib/format';
import { useLoaded, useStore } from '../lib/hooks';
import { session } from '../session';
import { ErrorNote } from '../ui/controls';
import { later } from '../ui/later';
import { readThroughput, type ContainerMetrics } from '../wire/own';

const Chart = later(() => import('../ui/chart').then((m) => m.Chart));

/// How autoscale followed the load: each partition by itself, added up.
export function AutoscaleCard({ db, coll, data, maximum }: { db: string; coll: string; data: ContainerMetrics; maximum: number }) {
  const client = useStore(session)!;
  const state = useLoaded((signal) => readThroughput(client, db, coll, signal), [db, coll, data.now]);
  const lines = useMemo(() => {
    const length = Math.max(0, ...data.ranges.map((r) => r.seconds.length));
    const x = Array.from({ length }, (_, i) => data.firstSecond + i);
    return {
      x,
      scaled: x.map((_, i) => data.ranges.reduce((n, r) => n + scaledAt(r, i), 0)),
      used: x.map((_, i) => data.ranges.reduce((n, r) => n + (r.seconds[i]?.[0] ?? 0), 0)),
      top: x.map(() => maximum),
    };
  }, [data, maximum]);
  return (
    <section className="card section" aria-labelledby="scale-autoscale">
      <h2 id="scale-autoscale">Autoscale</h2>
      <div className="facts num">
        <span><b>{count(Math.round(state.data?.currentThroughput ?? lines.scaled.at(-1) ?? maximum / 10))} RU/s</b> now</span>
        {state.data && <span><b>{count(Math.round(state.data.highestThroughputOfHour))} RU/s</b> highest of this hour, which is what an hour costs</span>}
        <span><b>{count(maximum / 10)} to {count(maximum)} RU/s</b> allowed</span>
      </div>
      {state.error !== null && <ErrorNote error={state.error} retry={state.reload} />}
      
        <Chart x={lines.x} label="Throughput that autoscale provided, and what was used, in the last two minutes"
          lines={[{ label: 'scaled to', values: lines.scaled, color: '--good' }, { label: 'used', values: lines.used, color: '--accent' }, { label: 'maximum', values: lines.top, color: '--text-3', bare: true }]} />
      
    </section>
  );
}
