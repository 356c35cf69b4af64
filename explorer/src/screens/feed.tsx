import { useEffect, useRef, useState, type KeyboardEvent } from 'react';
import { count, plural, ru } from '../lib/format';
import { useStore } from '../lib/hooks';
import { pretty } from '../lib/json_text';
import { session } from '../session';
import { Button, Empty, ErrorNote, Segmented } from '../ui/controls';
import { CodeEditor } from '../ui/code_editor';
import { Split } from '../ui/split';
import { VirtualList } from '../ui/virtual';
import { listRanges } from '../wire/api';
import { isAbort, WireError } from '../wire/error';
import { readChanges, type FeedMode } from '../wire/feed';
import { keyOf, keyText } from '../wire/key';
import type { JsonObject } from '../wire/types';
import type { ContainerProps } from './container_page';

const KEPT_MAX = 20_000;
const POLL_MS = 1000;

interface Change {
  at: number;
  range: string;
  operation: string;
  id: string;
  key: string;
  lsn: number | null;
  text: string;
}

interface Watch {
  running: boolean;
  changes: Change[];
  seen: number;
  charge: number;
  error: unknown;
}

export function Feed({ db, container }: ContainerProps) {
  const client = useStore(session)!;
  const coll = container.id;
  const [mode, setMode] = useState<FeedMode>('latest');
  const [from, setFrom] = useState<'now' | 'start'>('now');
  const [watch, setWatch] = useState<Watch>({ running: false, changes: [], seen: 0, charge: 0, error: null });
  const [chosen, setChosen] = useState<Change | null>(null);
  const control = useRef<AbortController | null>(null);
  useEffect(() => () => control.current?.abort(), []);

  const describeChange = (text: string, range: string): Change => {
    const value = JSON.parse(text) as JsonObject;
    const metadata = (value.metadata ?? null) as JsonObject | null;
    const item = (metadata ? value.current : value) as JsonObject;
    const deletedKey = metadata?.partitionKey as JsonObject | undefined;
    return {
      at: Date.now(), range, text,
      operation: String(metadata?.operationType ?? 'written'),
      id: String(item?.id ?? metadata?.id ?? ''),
      key: deletedKey ? Object.values(deletedKey).map(String).join(' / ') : keyText(keyOf(item ?? {}, container.partitionKey!)),
      lsn: Number(metadata?.lsn ?? value._lsn ?? NaN) || null,
    };
  };

  const start = async () => {
    const stop = (control.current = new AbortController());
    setChosen(null);
    setWatch({ running: true, changes: [], seen: 0, charge: 0, error: null });
    const positions = new Map<string, string | null>();
    // A range that appears later is a child: its changes go on where its parent's were read.
    const refreshRanges = async () => {
      const ranges = await listRanges(client, db, coll, stop.signal);
      const before = new Map(positions);
      positions.clear();
      for (const range of ranges) {
        const parent = (range.parents ?? []).find((p) => before.has(p));
        positions.set(range.id, before.get(range.id) ?? (parent !== undefined ? before.get(parent)! : from === 'now' ? '*' : null));
      }
    };
    try {
      await refreshRanges();
      for (;;) {
        let news = false;
        for (const range of [...positions.keys()]) {
          try {
            const page = await readChanges(client, db, coll, range, mode, positions.get(range)!, stop.signal);
            positions.set(range, page.etag);
            news ||= page.more;
            const fresh = page.changes.map((text) => describeChange(text, range)).reverse();
            setWatch((w) => ({ ...w, changes: fresh.length ? [...fresh, ...w.changes].slice(0, KEPT_MAX) : w.changes, seen: w.seen + fresh.length, charge: w.charge + page.charge }));
          } catch (error) {
            if (!(error instanceof WireError) || error.status !== 410) throw error;
            await refreshRanges();
            break;
          }
        }
        if (!news) await new Promise<void>((resolve, reject) => {
          const timer = setTimeout(resolve, POLL_MS);
          stop.signal.addEventListener('abort', () => { clearTimeout(timer); reject(new DOMException('stopped', 'AbortError')); }, { once: true });
        });
        if (stop.signal.aborted) break;
      }
    } catch (error) {
      setWatch((w) => ({ ...w, running: false, error: isAbort(error) ? null : error }));
      return;
    }
    setWatch((w) => ({ ...w, running: false }));
  };
  const index = chosen ? watch.changes.indexOf(chosen) : -1;
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
    event.preventDefault();
    const next = watch.changes[Math.max(0, Math.min(watch.changes.length - 1, index + (event.key === 'ArrowDown' ? 1 : -1)))];
    if (next) setChosen(next);
  };
  const list = (
    <div className="fill" style={{ background: 'var(--panel)' }}>
      <div className="list-head"><span style={{ width: 66, flex: 'none' }}>Seen</span><span style={{ flex: 3 }}>id</span><span style={{ flex: 2 }} className="ellipsis">{container.partitionKey?.paths.join(' / ')}</span><span style={{ width: 66, flex: 'none' }}>Change</span></div>
      {watch.error !== null && <div style={{ padding: 12 }}><ErrorNote error={watch.error} /></div>}
      {watch.changes.length === 0 ? (
        <Empty icon="clock" title={watch.running ? 'Waiting for changes' : 'Watch changes as they happen'}>
          <p className="muted">{watch.running ? 'Write an item, here in another tab or from a program: it appears within a second.' : 'The change feed shows each write in the order of its partition. It is what the change feed processor of an SDK reads.'}</p>
          {!watch.running && <Button look="primary" icon="play" onClick={() => void start()}>Start watching</Button>}
        </Empty>
      ) : (
        <VirtualList count={watch.changes.length} rowHeight={30} role="listbox" aria-label="Changes, newest first" tabIndex={0} activeIndex={index} onKeyDown={onKey}
          aria-activedescendant={index >= 0 ? `change-${index}` : undefined}
          row={(i) => {
            const change = watch.changes[i]!;
            return (
              <div id={`change-${i}`} role="option" aria-selected={change === chosen} className={`item-row row grow${change === chosen ? ' selected' : ''}`} onClick={() => setChosen(change)}>
                <span className="num muted small" style={{ width: 66, flex: 'none' }}>{new Date(change.at).toLocaleTimeString('en-GB')}</span>
                <span className="id">{change.id}</span>
                <span className="key">{change.key}</span>
                <span className="small" style={{ width: 66, flex: 'none', color: change.operation === 'delete' ? 'var(--bad)' : change.operation === 'create' ? 'var(--good)' : 'var(--text-2)' }}>{change.operation}</span>
              </div>
            );
          }} />
      )}
      <div className="statusline num" aria-live="polite">
        {watch.running && <span className="badge good">live</span>}
        <span>{plural(watch.seen, 'change')}</span>
        {watch.seen > watch.changes.length && <span className="muted">the newest {count(watch.changes.length)} are kept</span>}
        <span className="muted">{ru(watch.charge)}</span>
      </div>
    </div>
  );
  return (
    <>
      <div className="toolbar">
        {watch.running ? <Button icon="stop" onClick={() => control.current?.abort()}>Stop</Button> : <Button look="primary" icon="play" onClick={() => void start()}>Watch</Button>}
        <Segmented small label="Mode" value={mode} onChange={setMode} options={[{ value: 'latest', label: 'Latest version' }, { value: 'all', label: 'All versions and deletes' }]} />
        <Segmented small label="From" value={from} onChange={setFrom} options={[{ value: 'now', label: 'From now' }, { value: 'start', label: 'From the beginning' }]} />
        {watch.running && <span className="small muted">A change of these takes effect with the next start.</span>}
        <span className="grow" />
        <Button small look="quiet" disabled={watch.changes.length === 0} onClick={() => { setWatch({ ...watch, changes: [] }); setChosen(null); }}>Clear</Button>
      </div>
      <Split name="feed" stack initial={520} min={240} first={list}
        second={chosen ? (
          <div className="fill">
            <CodeEditor language="json" label="Change" readOnly lint={false} value={pretty(chosen.text)} />
            <div className="statusline num"><span>partition {chosen.range}</span>{chosen.lsn !== null && <span>LSN {count(chosen.lsn)}</span>}</div>
          </div>
        ) : <div className="fill" style={{ background: 'var(--panel)' }}><Empty icon="item" title="Select a change" /></div>} />
    </>
  );
}
