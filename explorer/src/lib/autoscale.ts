import type { RangeUse } from '../wire/own';

/// What a partition is scaled to: the mean use of the last seconds, between a tenth of its maximum and the maximum.
const WINDOW_SECONDS = 5;

export function scaledAt(range: Pick<RangeUse, 'provisioned' | 'seconds'>, second: number): number {
  let used = 0;
  for (let i = Math.max(0, second - WINDOW_SECONDS + 1); i <= second; ++i) used += range.seconds[i]?.[0] ?? 0;
  return Math.min(range.provisioned, Math.max(range.provisioned / 10, used / WINDOW_SECONDS));
}
