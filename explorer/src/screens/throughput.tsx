import { count } from '../lib/format';
import { Field, Segmented, TextField } from '../ui/controls';
import type { Throughput } from '../wire/types';

export const throughputProblem = (t: Throughput, minimum = t.mode === 'autoscale' ? 1000 : 400): string | null => {
  if (t.mode === 'none') return null;
  const value = t.mode === 'manual' ? t.ru : t.max;
  const step = t.mode === 'manual' ? 100 : 1000;
  if (!Number.isInteger(value) || value % step !== 0) return `A whole number in steps of ${count(step)}.`;
  if (value < minimum) return `At least ${count(minimum)} RU/s.`;
  if (value > 1_000_000) return 'At most 1,000,000 RU/s.';
  return null;
};

/// The choice between manual, autoscale and (where it exists) somebody else's throughput.
export function ThroughputField({ value, onChange, none, minimum, headed }: {
  value: Throughput;
  onChange: (value: Throughput) => void;
  /// What the third choice is called; left out: there is none.
  none?: string;
  minimum?: number | null;
  /// A heading above says what it is.
  headed?: boolean;
}) {
  const least = value.mode === 'manual' ? (minimum ?? 400) : Math.max(1000, minimum ?? 1000);
  return (
    <div className="col" style={{ gap: 8 }}>
      <div className="field">
        {!headed && <span className="label">Throughput</span>}
        <Segmented label="Throughput" value={value.mode}
          options={[
            ...(none ? [{ value: 'none' as const, label: none }] : []),
            { value: 'autoscale' as const, label: 'Autoscale' },
            { value: 'manual' as const, label: 'Manual' },
          ]}
          onChange={(mode) => onChange(mode === 'manual' ? { mode, ru: 400 } : mode === 'autoscale' ? { mode, max: 1000 } : { mode })} />
      </div>
      {value.mode === 'manual' && (
        <TextField label="RU/s" type="number" min={least} step={100} value={Number.isNaN(value.ru) ? '' : value.ru} problem={throughputProblem(value, least)}
          hint="Constant. In steps of 100." onChange={(e) => onChange({ mode: 'manual', ru: e.target.valueAsNumber })} />
      )}
      {value.mode === 'autoscale' && (
        <TextField label="Highest RU/s" type="number" min={least} step={1000} value={Number.isNaN(value.max) ? '' : value.max} problem={throughputProblem(value, least)}
          hint={`Runs between ${count(Math.round((value.max || 0) / 10))} and ${count(value.max || 0)} RU/s, as the traffic asks.`}
          onChange={(e) => onChange({ mode: 'autoscale', max: e.target.valueAsNumber })} />
      )}
    </div>
  );
}

export type TtlChoice = { mode: 'off' } | { mode: 'items' } | { mode: 'all'; seconds: number };

export const ttlOf = (defaultTtl: number | undefined): TtlChoice =>
  defaultTtl === undefined ? { mode: 'off' } : defaultTtl === -1 ? { mode: 'items' } : { mode: 'all', seconds: defaultTtl };

export const ttlValue = (ttl: TtlChoice): number | undefined =>
  ttl.mode === 'off' ? undefined : ttl.mode === 'items' ? -1 : ttl.seconds;

export const ttlProblem = (ttl: TtlChoice): string | null =>
  ttl.mode === 'all' && !(Number.isInteger(ttl.seconds) && ttl.seconds >= 1 && ttl.seconds <= 2147483647)
    ? 'A whole number of seconds, from 1 to 2147483647.'
    : null;

export function TtlField({ value, onChange, headed }: { value: TtlChoice; onChange: (value: TtlChoice) => void; headed?: boolean }) {
  return (
    <div className="col" style={{ gap: 8 }}>
      <div className="field">
        {!headed && <span className="label">Time to live</span>}
        <Segmented label="Time to live" value={value.mode}
          options={[{ value: 'off', label: 'Off' }, { value: 'items', label: 'Items that say so' }, { value: 'all', label: 'All items' }]}
          onChange={(mode) => onChange(mode === 'all' ? { mode, seconds: 86400 } : { mode })} />
        <span className="hint">
          {value.mode === 'off' && 'Items stay until they are deleted; a “ttl” in an item has no effect.'}
          {value.mode === 'items' && 'An item with a “ttl” (seconds) vanishes that long after its last write.'}
          {value.mode === 'all' && 'Every item vanishes this long after its last write, unless its own “ttl” says otherwise.'}
        </span>
      </div>
      {value.mode === 'all' && (
        <Field label="Seconds" problem={ttlProblem(value)}>
          {(props) => <input className="input" type="number" min={1} {...props} value={Number.isNaN(value.seconds) ? '' : value.seconds} onChange={(e) => onChange({ mode: 'all', seconds: e.target.valueAsNumber })} />}
        </Field>
      )}
    </div>
  );
}

/// Minutes for which replaced versions and deletes stay in the change feed; off: the latest version of each item only.
export type Retention = { mode: 'latest' } | { mode: 'all'; minutes: number };

const RETENTION_MAX = 43_200;

export const retentionOf = (policy: { retentionDuration: number } | undefined): Retention =>
  policy && policy.retentionDuration > 0 ? { mode: 'all', minutes: policy.retentionDuration } : { mode: 'latest' };

export const retentionPolicy = (retention: Retention): { retentionDuration: number } => ({ retentionDuration: retention.mode === 'all' ? retention.minutes : 0 });

export const retentionProblem = (retention: Retention): string | null =>
  retention.mode === 'all' && !(Number.isInteger(retention.minutes) && retention.minutes >= 1 && retention.minutes <= RETENTION_MAX)
    ? 'A whole number of minutes, from 1 to 43,200 (30 days).'
    : null;

export function RetentionField({ value, onChange }: { value: Retention; onChange: (value: Retention) => void }) {
  return (
    <div className="col" style={{ gap: 8 }}>
      <div className="field">
        <Segmented label="Change feed" value={value.mode}
          options={[{ value: 'latest', label: 'Latest versions' }, { value: 'all', label: 'All versions and deletes' }]}
          onChange={(mode) => onChange(mode === 'all' ? { mode, minutes: 10 } : { mode })} />
        <span className="hint">
          {value.mode === 'latest' ? 'The feed has the latest version of each item, without end.' : 'Versions that were replaced, and deletes, can be read for this long as well.'}
        </span>
      </div>
      {value.mode === 'all' && (
        <Field label="Minutes that they are kept" problem={retentionProblem(value)}>
          {(props) => <input className="input" type="number" min={1} max={RETENTION_MAX} {...props} value={Number.isNaN(value.minutes) ? '' : value.minutes} onChange={(e) => onChange({ mode: 'all', minutes: e.target.valueAsNumber })} />}
        </Field>
      )}
    </div>
  );
}
