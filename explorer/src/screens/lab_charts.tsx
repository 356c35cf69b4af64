import { bytes, count } from '../lib/format';
import type { LabChart } from '../wire/lab';

const COLORS = ['var(--accent)', 'var(--brass)', 'var(--good)', 'var(--syn-atom)'];

export const amount = (value: number, unit: string): string =>
  unit === 'bytes' ? bytes(value) : unit === '$' ? value.toLocaleString('en-US', { style: 'currency', currency: 'USD' }) : unit === 'share' ? `${Math.round(value * 100)} %` : `${Math.abs(value) >= 100 ? count(Math.round(value)) : Number(value.toFixed(2))}${unit ? ` ${unit}` : ''}`;

/// Horizontal bars with their figures; several series are stacked.
export function Bars({ labels, series, unit, title }: { labels: string[]; series: { name: string; values: number[] }[]; unit: string; title: string }) {
  const most = Math.max(1e-9, ...labels.map((_, i) => series.reduce((n, s) => n + (s.values[i] ?? 0), 0)));
  return (
    <div role="img" aria-label={`${title}: ${labels.map((l, i) => `${l} ${amount(series[0]?.values[i] ?? 0, unit)}`).join(', ')}`}>
      {labels.map((label, i) => (
        <div key={`${label} ${i}`} className="labbar">
          <span className={`ellipsis small${/^[/[]/.test(label) ? ' mono' : ''}`} title={label}>{label}</span>
          <span className="track">
            {series.map((s, n) => <i key={s.name} style={{ width: `${(100 * (s.values[i] ?? 0)) / most}%`, background: COLORS[n % COLORS.length] }} title={`${s.name}: ${amount(s.values[i] ?? 0, unit)}`} />)}
          </span>
          <span className="num small">{amount(series.reduce((n, s) => n + (s.values[i] ?? 0), 0), unit)}</span>
        </div>
      ))}
      {series.length > 1 && <Legend names={series.map((s) => s.name)} />}
    </div>
  );
}

function Legend({ names }: { names: string[] }) {
  return (
    <div className="row small muted wrap" aria-hidden="true">
      {names.map((name, i) => <span key={name} className="row" style={{ gap: 4 }}><i style={{ width: 12, height: 4, background: COLORS[i % COLORS.length], display: 'inline-block' }} />{name}</span>)}
    </div>
  );
}

export function Lines({ chart }: { chart: LabChart }) {
  const most = Math.max(1e-9, ...chart.series.flatMap((s) => s.values));
  const width = 600;
  const height = 150;
  const points = (values: number[]) => values.map((v, i) => `${values.length < 2 ? 0 : (width * i) / (values.length - 1)},${height - (v / most) * (height - 6)}`).join(' ');
  return (
    <div>
      <div className="small muted num">{amount(most, chart.unit)}</div>
      <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" style={{ width: '100%', height, borderBottom: '1px solid var(--line-strong)' }} role="img"
        aria-label={`${chart.title}: ${chart.series.map((s) => `${s.name} from ${amount(s.values[0] ?? 0, chart.unit)} to ${amount(s.values.at(-1) ?? 0, chart.unit)}`).join(', ')}`}>
        {chart.series.map((s, i) => <polyline key={s.name} points={points(s.values)} fill="none" stroke={COLORS[i % COLORS.length]} strokeWidth={2} vectorEffect="non-scaling-stroke" />)}
      </svg>
      <div className="row small muted" style={{ justifyContent: 'space-between' }}><span>{chart.labels[0]}</span><Legend names={chart.series.map((s) => s.name)} /><span>{chart.labels.at(-1)}</span></div>
    </div>
  );
}

export function Heat({ chart }: { chart: LabChart }) {
  const most = Math.max(1e-9, ...chart.series.flatMap((s) => s.values));
  const columns = Math.max(1, ...chart.series.map((s) => s.values.length));
  return (
    <div>
      {chart.series.map((row) => (
        <div key={row.name} style={{ display: 'flex', gap: 8, alignItems: 'center' }}>
          <span className="small muted num" style={{ width: 28, textAlign: 'right' }}>{row.name}</span>
          <svg className="grow" height={18} preserveAspectRatio="none" viewBox={`0 0 ${columns} 1`} role="img" shapeRendering="crispEdges" aria-label={`Partition ${row.name}: ${amount(row.values.reduce((a, b) => a + b, 0), chart.unit)} in all`}>
            {row.values.map((v, i) => {
              const share = v / most;
              return <rect key={i} x={i} y={0} width={1} height={1} style={{ fill: `var(--heat-${v <= 0 ? 0 : share < 0.2 ? 1 : share < 0.45 ? 2 : share < 0.7 ? 3 : share < 0.9 ? 4 : 5})` }}><title>{`${chart.labels[i] ?? ''}: ${amount(v, chart.unit)}`}</title></rect>;
            })}
          </svg>
        </div>
      ))}
      <div className="row small muted" style={{ justifyContent: 'space-between', paddingLeft: 36 }}><span>{chart.labels[0]}</span><span>{chart.labels.at(-1)}</span></div>
    </div>
  );
}

export function FindingChart({ chart }: { chart: LabChart }) {
  return (
    <figure style={{ margin: 0 }}>
      <figcaption className="label" style={{ marginBottom: 6 }}>{chart.title}</figcaption>
      {chart.kind === 'bars' && <Bars labels={chart.labels} series={chart.series} unit={chart.unit} title={chart.title} />}
      {chart.kind === 'lines' && <Lines chart={chart} />}
      {chart.kind === 'heat' && <Heat chart={chart} />}
    </figure>
  );
}
