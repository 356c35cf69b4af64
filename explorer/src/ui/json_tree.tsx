import { useState } from 'react';
import type { Json } from '../wire/types';
import { Button } from './controls';
import { Icon } from './icons';

const STEP = 200;

function Scalar({ value }: { value: Json }) {
  if (typeof value === 'string') return <span className="string">{JSON.stringify(value.length > 2000 ? value.slice(0, 2000) + '…' : value)}</span>;
  if (typeof value === 'number' || typeof value === 'bigint') return <span className="number">{String(value)}</span>;
  return <span className="atom">{String(value)}</span>;
}

function Node({ name, value, depth, open: initial }: { name: string; value: Json; depth: number; open: boolean }) {
  const [open, setOpen] = useState(initial);
  const [shown, setShown] = useState(STEP);
  const indent = { paddingLeft: depth * 16 };
  if (value === null || typeof value !== 'object')
    return (
      <div className="line" style={indent}>
        <span style={{ width: 14, flex: 'none' }} />
        <span className="name">{name}</span>
        <Scalar value={value} />
      </div>
    );
  const entries: [string, Json][] = Array.isArray(value) ? value.map((v, i) => [String(i), v]) : Object.entries(value);
  return (
    <>
      <div className="line" style={indent}>
        <button type="button" className="twist" aria-expanded={open} aria-label={`${open ? 'Close' : 'Open'} ${name}`} onClick={() => setOpen(!open)}>
          <Icon name={open ? 'down' : 'chevron'} size={12} />
        </button>
        <span className="name">{name}</span>
        <span className="hint">{Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`}</span>
      </div>
      {open && entries.slice(0, shown).map(([n, v]) => <Node key={n} name={n} value={v} depth={depth + 1} open={false} />)}
      {open && entries.length > shown && (
        <div className="line" style={{ paddingLeft: depth * 16 + 20 }}>
          <Button small look="quiet" onClick={() => setShown(shown + STEP)}>{entries.length - shown} more</Button>
        </div>
      )}
    </>
  );
}

export function JsonTree({ rows, label }: { rows: Json[]; label: string }) {
  const [shown, setShown] = useState(STEP);
  return (
    <div className="jtree" role="group" aria-label={label} tabIndex={0}>
      {rows.slice(0, shown).map((row, i) => <Node key={i} name={String(i)} value={row} depth={0} open={i < 3} />)}
      {rows.length > shown && <Button small look="quiet" onClick={() => setShown(shown + STEP)}>{rows.length - shown} more rows</Button>}
    </div>
  );
}
