import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { useStore } from '../lib/hooks';
import { themeChoice } from '../theme';

export interface Line {
  label: string;
  values: number[];
  /// The name of a colour token.
  color: string;
  /// A limit: drawn without the area below it.
  bare?: boolean;
}

const clock = (seconds: number | null | undefined): string => (seconds === null || seconds === undefined ? '' : new Date(seconds * 1000).toLocaleTimeString('en-GB'));
const figure = (value: number | null | undefined): string => (value === null || value === undefined ? '' : value.toLocaleString('en-US', { maximumFractionDigits: 1 }));

/// Lines over time (seconds). Drawn on a canvas; the label says it in words.
export function Chart({ x, lines, label, height = 190 }: { x: number[]; lines: Line[]; label: string; height?: number }) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const theme = useStore(themeChoice);
  const shape = lines.map((l) => l.label).join('\n');
  useEffect(() => {
    const element = box.current!;
    const style = getComputedStyle(document.documentElement);
    const color = (name: string) => style.getPropertyValue(name).trim();
    const axis = { stroke: color('--text-3'), grid: { stroke: color('--line'), width: 1 }, ticks: { stroke: color('--line'), width: 1 }, font: '11px system-ui' };
    plot.current = new uPlot(
      {
        width: element.clientWidth || 600,
        height,
        cursor: { y: false },
        scales: { x: { time: true }, y: { range: (_u, _min, max) => [0, Math.max(1, max * 1.1)] } },
        axes: [{ ...axis, space: 90, values: (_u, splits) => splits.map(clock) }, { ...axis, size: 52 }],
        // Away from the pointer the newest values stand in the legend.
        series: [{ label: 'Time', value: (u, v) => clock(v ?? u.data[0][u.data[0].length - 1]) }, ...lines.map((line, i) => ({ label: line.label, value: (u: uPlot, v: number | null) => figure(v ?? u.data[i + 1]?.[u.data[i + 1]!.length - 1]), stroke: color(line.color), width: 1.6, points: { show: false }, ...(line.bare ? { dash: [4, 4] } : { fill: `color-mix(in srgb, ${color(line.color)} 12%, transparent)` }) }))],
      },
      [x, ...lines.map((l) => l.values)],
      element,
    );
    const observer = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.current?.destroy();
    };
  }, [shape, theme, height]);
  useEffect(() => plot.current?.setData([x, ...lines.map((l) => l.values)]), [x, lines]);
  return <div className="chart" ref={box} role="img" aria-label={label} />;
}
