import { useCallback, useEffect, useMemo, useRef, useState, type KeyboardEvent } from 'react';
import { count, ru } from '../lib/format';
import { useStore } from '../lib/hooks';
import { withoutSystem } from '../lib/json_text';
import { session } from '../session';
import { Button, Empty, ErrorNote } from '../ui/controls';
import { Icon } from '../ui/icons';
import { Menu } from '../ui/menu';
import { Split } from '../ui/split';
import { toast, toastError } from '../ui/toast';
import { VirtualList } from '../ui/virtual';
import { createItem, deleteItem, itemRow, listQuery, queryPage, readItem, type ItemRow } from '../wire/api';
import { isAbort } from '../wire/error';
import { keyHeader, keyText, pathNames } from '../wire/key';
import type { PartitionKeyDefinition } from '../wire/types';
import type { ContainerProps } from './container_page';
import { ItemEditor, type OpenItem } from './item_editor';
import { Download, Upload } from './transfer';

const PAGE = 500;

interface Listing {
  rows: ItemRow[];
  continuation: string | null;
  loading: boolean;
  error: unknown;
  charge: number;
}

const sameItem = (a: ItemRow, b: ItemRow): boolean => a.id === b.id && keyHeader(a.key) === keyHeader(b.key);

const start: Listing = { rows: [], continuation: null, loading: true, error: null, charge: 0 };

/// Rows as they are scrolled to; a new filter starts anew and drops what is still under way.
function useListing(db: string, coll: string, definition: PartitionKeyDefinition, filter: string) {
  const client = useStore(session)!;
  const [listing, setListing] = useState<Listing>(start);
  const [round, setRound] = useState(0);
  const control = useRef<AbortController | null>(null);
  const query = useMemo(() => listQuery(definition, filter), [definition, filter]);
  const loadPage = useCallback(
    async (continuation: string | null, signal: AbortSignal) => {
      try {
        const page = await queryPage(client, db, coll, { query, pageSize: PAGE, continuation, signal, housekeeping: true });
        const rows = page.rows.map((text) => itemRow(text, definition));
        setListing((l) => ({ rows: continuation ? l.rows.concat(rows) : rows, continuation: page.continuation, loading: false, error: null, charge: l.charge + page.charge }));
      } catch (error) {
        if (!isAbort(error)) setListing((l) => ({ ...l, loading: false, error }));
      }
    },
    [client, db, coll, query, definition],
  );
  useEffect(() => {
    const mine = new AbortController();
    control.current = mine;
    setListing((l) => ({ ...start, rows: l.rows }));
    void loadPage(null, mine.signal);
    return () => mine.abort();
  }, [loadPage, round]);
  const more = useCallback(() => {
    setListing((l) => {
      if (l.loading || !l.continuation || l.error !== null) return l;
      void loadPage(l.continuation, control.current!.signal);
      return { ...l, loading: true };
    });
  }, [loadPage]);
  return { listing, more, reload: () => setRound((r) => r + 1), setListing };
}

export function template(definition: PartitionKeyDefinition): string {
  const item: Record<string, unknown> = { id: crypto.randomUUID() };
  for (const path of definition.paths) {
    const names = pathNames(path);
    let at = item;
    names.forEach((name, i) => {
      if (i === names.length - 1) at[name] ??= '';
      else at = (at[name] ??= {}) as Record<string, unknown>;
    });
  }
  return JSON.stringify(item, null, 2);
}

export function Items({ db, container, refresh, state }: ContainerProps) {
  const client = useStore(session)!;
  const coll = container.id;
  // The same object while the key is the same: the list would start anew otherwise.
  const keyShape = JSON.stringify(container.partitionKey);
  const definition = useMemo(() => JSON.parse(keyShape) as PartitionKeyDefinition, [keyShape]);
  const [typed, setTyped] = useState('');
  const [filter, setFilter] = useState('');
  const { listing, more, reload, setListing } = useListing(db, coll, definition, filter);
  const [open, setOpen] = useState<OpenItem | null>(null);
  const [selected, setSelected] = useState<ItemRow | null>(null);
  // Rows come and go around the selected one, so it is found by what it is, not by where it was.
  const active = useMemo(() => (selected ? listing.rows.findIndex((row) => sameItem(row, selected)) : -1), [listing.rows, selected]);
  const [openError, setOpenError] = useState<unknown>(null);
  const [transfer, setTransfer] = useState<'upload' | 'download' | null>(null);
  const editorDirty = useRef<() => boolean>(() => false);
  const opening = useRef<AbortController | null>(null);

  const mayLeave = () => !editorDirty.current() || confirm('The item has changes that are not saved. Leave them?');
  const openRow = async (row: ItemRow) => {
    if (!mayLeave()) return;
    setSelected(row);
    setOpenError(null);
    opening.current?.abort();
    const control = (opening.current = new AbortController());
    try {
      const key = keyHeader(row.key, definition);
      const answer = await readItem(client, db, coll, row.id, key, control.signal);
      setOpen({ kind: 'stored', id: row.id, key: row.key, text: answer.text, etag: answer.etag, charge: answer.charge });
    } catch (error) {
      if (!isAbort(error)) {
        setOpenError(error);
        setOpen(null);
      }
    }
  };
  const openNew = (text?: string) => {
    if (!mayLeave()) return;
    setSelected(null);
    setOpenError(null);
    setOpen({ kind: 'new', text: text ?? template(definition), serial: Date.now() });
  };
  const remove = async (row: ItemRow) => {
    const key = keyHeader(row.key, definition);
    try {
      const before = await readItem(client, db, coll, row.id, key);
      await deleteItem(client, db, coll, row.id, key, before.etag);
      setListing((l) => ({ ...l, rows: l.rows.filter((r) => !sameItem(r, row)) }));
      setOpen(null);
      setSelected(null);
      refresh();
      toast(`${row.id} was deleted.`, {
        action: {
          label: 'Undo',
          run: () => {
            createItem(client, db, coll, withoutSystem(before.text), key).then(
              () => { reload(); refresh(); toast(`${row.id} is back.`); },
              toastError,
            );
          },
        },
      });
    } catch (error) {
      toastError(error);
    }
  };
  const onKey = (event: KeyboardEvent) => {
    const rows = listing.rows;
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      const next = Math.max(0, Math.min(rows.length - 1, active + (event.key === 'ArrowDown' ? 1 : -1)));
      if (rows[next]) void openRow(rows[next]);
    } else if (event.key === 'Delete' && rows[active]) void remove(rows[active]);
  };
  useEffect(() => {
    const onShortcut = (event: globalThis.KeyboardEvent) => {
      if (event.altKey && event.key.toLowerCase() === 'n' && location.hash.endsWith('/items')) {
        event.preventDefault();
        openNew();
      }
    };
    addEventListener('keydown', onShortcut);
    return () => removeEventListener('keydown', onShortcut);
  });

  const total = filter === '' ? state.usage?.items : undefined;
  const empty = !listing.loading && listing.rows.length === 0 && listing.error === null;
  const list = (
    <div className="fill" style={{ background: 'var(--panel)' }}>
      <div className="list-head"><span style={{ flex: 3 }}>id</span><span style={{ flex: 2 }} className="ellipsis">{definition.paths.join(' / ')}</span></div>
      {listing.error !== null && <div style={{ padding: 12 }}><ErrorNote error={listing.error} retry={reload} /></div>}
      {empty ? (
        filter ? (
          <Empty icon="search" title="No item matches"><Button onClick={() => { setTyped(''); setFilter(''); }}>Clear the filter</Button></Empty>
        ) : (
          <Empty icon="item" title="No items yet">
            <p>Write the first one, or upload a JSON, JSONL or CSV file.</p>
            <div className="row"><Button look="primary" icon="plus" onClick={() => openNew()}>New item</Button><Button icon="upload" onClick={() => setTransfer('upload')}>Upload</Button></div>
          </Empty>
        )
      ) : listing.rows.length > 0 && (
        <VirtualList count={listing.rows.length} rowHeight={30} activeIndex={active} onNearEnd={listing.continuation && !listing.loading ? more : undefined}
          role="listbox" aria-label="Items" tabIndex={0} onKeyDown={onKey} aria-activedescendant={active >= 0 ? `item-${active}` : undefined}
          row={(i) => {
            const row = listing.rows[i]!;
            return (
              <div id={`item-${i}`} role="option" aria-selected={i === active} className={`item-row row grow${i === active ? ' selected' : ''}`} onClick={() => void openRow(row)}>
                <span className="id" title={row.id}>{row.id}</span>
                <span className="key" title={keyText(row.key)}>{keyText(row.key)}</span>
              </div>
            );
          }} />
      )}
      <div className="statusline num" aria-live="polite">
        {listing.loading ? <span className="row"><span className="spinner" />Loading…</span> : (
          <span>{count(listing.rows.length)}{total !== undefined && total > listing.rows.length ? ` of ${count(total)}` : listing.continuation ? ' so far' : ''} {listing.rows.length === 1 && !listing.continuation ? 'item' : 'items'}</span>
        )}
        <span className="muted">{ru(listing.charge)}</span>
      </div>
    </div>
  );
  const editor = openError !== null ? (
    <div style={{ padding: 16 }}><ErrorNote error={openError} /></div>
  ) : open ? (
    <ItemEditor key={open.kind === 'new' ? `new ${open.serial}` : `${open.id} ${keyText(open.key)} ${open.etag}`} db={db} coll={coll} definition={definition} item={open} dirtyRef={editorDirty}
      onSaved={(next, row, isNew) => {
        setOpen(next);
        if (isNew) {
          setListing((l) => ({ ...l, rows: [row, ...l.rows] }));
          setSelected(row);
          refresh();
        }
      }}
      onDuplicate={(text) => openNew(text)}
      onDelete={() => { if (open.kind === 'stored') void remove({ id: open.id, key: open.key, ts: 0 }); }}
      onClose={() => { if (mayLeave()) { setOpen(null); setSelected(null); } }} />
  ) : (
    <div className="fill" style={{ background: 'var(--panel)' }}><Empty icon="item" title={listing.rows.length ? 'Select an item' : 'The item appears here'}><p className="muted">Arrow keys move through the list, <kbd>Alt N</kbd> starts a new item.</p></Empty></div>
  );
  return (
    <>
      <form className="toolbar" role="search" onSubmit={(e) => { e.preventDefault(); setFilter(typed); if (typed === filter) reload(); setOpen(null); setSelected(null); }}>
        <div className="row grow" style={{ minWidth: 200 }}>
          <label className="mono muted hide-narrow" htmlFor="item-filter">SELECT * FROM c</label>
          <input id="item-filter" className="input mono grow" placeholder='WHERE c.status = "open" ORDER BY c._ts DESC' spellCheck={false} autoComplete="off" value={typed} onChange={(e) => setTyped(e.target.value)} aria-label="Filter: what follows FROM c" />
        </div>
        <Button type="submit">Filter</Button>
        {filter && <Button look="quiet" onClick={() => { setTyped(''); setFilter(''); }}>Clear</Button>}
        <Button look="quiet" icon="refresh" aria-label="Reload the list" onClick={() => { reload(); refresh(); }} />
        <Button look="primary" icon="plus" onClick={() => openNew()}>New item</Button>
        <Menu label="Upload and download" className="btn icon" trigger={<Icon name="more" />}
          entries={[
            { label: 'Upload items…', icon: 'upload', run: () => setTransfer('upload') },
            { label: filter ? 'Download what matches…' : 'Download items…', icon: 'download', run: () => setTransfer('download') },
          ]} />
      </form>
      <Split name="items" stack initial={420} min={220} first={list} second={editor} />
      {transfer === 'upload' && <Upload db={db} coll={coll} definition={definition} onClose={(changed) => { setTransfer(null); if (changed) { reload(); refresh(); } }} />}
      {transfer === 'download' && <Download db={db} coll={coll} filter={filter} total={total ?? null} onClose={() => setTransfer(null)} />}
    </>
  );
}
