import { useEffect, useMemo, useState, type KeyboardEvent } from 'react';
import { account, loadAccount, setOpen } from '../account';
import { useStore } from '../lib/hooks';
import { go, route } from '../route';
import { Button, ErrorNote, Spinner } from '../ui/controls';
import { Icon } from '../ui/icons';
import { Menu } from '../ui/menu';
import { VirtualList } from '../ui/virtual';
import { DeleteContainer, DeleteDatabase, NewContainer, NewDatabase } from './dialogs';

type Node =
  | { kind: 'database'; db: string; open: boolean }
  | { kind: 'container'; db: string; coll: string }
  | { kind: 'note'; db: string; text: string };

type Open = { what: 'new-db' } | { what: 'new-coll'; db: string } | { what: 'drop-db'; db: string } | { what: 'drop-coll'; db: string; coll: string };

export function Tree() {
  const state = useStore(account);
  const at = useStore(route);
  const [filter, setFilter] = useState('');
  const [active, setActive] = useState(0);
  const [dialog, setDialog] = useState<Open | null>(null);
  const nodes = useMemo(() => {
    const wanted = filter.trim().toLowerCase();
    const out: Node[] = [];
    for (const { id: db } of state.databases ?? []) {
      const list = state.containers[db];
      const containers = Array.isArray(list) ? list.filter((c) => !wanted || `${db}/${c.id}`.toLowerCase().includes(wanted)) : [];
      if (wanted && containers.length === 0 && !db.toLowerCase().includes(wanted)) continue;
      const open = Boolean(state.open[db]) || (wanted !== '' && containers.length > 0);
      out.push({ kind: 'database', db, open });
      if (!open) continue;
      for (const c of containers) out.push({ kind: 'container', db, coll: c.id });
      if (list === 'loading' || list === undefined) out.push({ kind: 'note', db, text: 'Loading…' });
      else if (!Array.isArray(list)) out.push({ kind: 'note', db, text: 'Could not be read' });
      else if (list.length === 0) out.push({ kind: 'note', db, text: 'No containers yet' });
    }
    return out;
  }, [state, filter]);
  const isSelected = (node: Node) =>
    (node.kind === 'database' && at.page === 'database' && at.db === node.db) ||
    (node.kind === 'container' && at.page === 'container' && at.db === node.db && at.coll === node.coll);
  useEffect(() => {
    const found = nodes.findIndex(isSelected);
    if (found >= 0) setActive(found);
  }, [at, nodes.length]);
  // The way to what is shown is open.
  useEffect(() => {
    if (at.page === 'container' && state.databases && !state.open[at.db]) setOpen(at.db, true);
  }, [at, state.databases]);
  const enter = (node: Node | undefined) => {
    if (node?.kind === 'container')
      go({ page: 'container', db: node.db, coll: node.coll, tab: at.page === 'container' ? at.tab : 'items' });
    else if (node?.kind === 'database') {
      go({ page: 'database', db: node.db });
      if (!node.open) setOpen(node.db, true);
    }
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget) return;
    const node = nodes[active];
    const move = (to: number) => {
      event.preventDefault();
      setActive(Math.max(0, Math.min(nodes.length - 1, to)));
    };
    if (event.key === 'ArrowDown') move(active + 1);
    else if (event.key === 'ArrowUp') move(active - 1);
    else if (event.key === 'Home') move(0);
    else if (event.key === 'End') move(nodes.length - 1);
    else if (event.key === 'ArrowRight' && node?.kind === 'database') {
      if (node.open) move(active + 1);
      else setOpen(node.db, true);
    } else if (event.key === 'ArrowLeft') {
      if (node?.kind === 'database') setOpen(node.db, false);
      else if (node) move(nodes.findIndex((n) => n.kind === 'database' && n.db === node.db));
    } else if (event.key === 'Enter' || event.key === ' ') {
      event.preventDefault();
      enter(node);
    }
  };
  const menuOf = (node: Node) =>
    node.kind === 'database'
      ? [
          { label: 'New container', icon: 'plus' as const, run: () => setDialog({ what: 'new-coll', db: node.db }) },
          { label: 'Delete database', icon: 'trash' as const, danger: true, run: () => setDialog({ what: 'drop-db', db: node.db }) },
        ]
      : node.kind === 'container'
        ? [{ label: 'Delete container', icon: 'trash' as const, danger: true, run: () => setDialog({ what: 'drop-coll', db: node.db, coll: node.coll }) }]
        : [];
  return (
    <>
      <div className="tools">
        <input className="input small" style={{ height: 28 }} type="search" aria-label="Filter databases and containers" placeholder="Filter" value={filter} onChange={(e) => setFilter(e.target.value)} />
        <Button small look="quiet" icon="refresh" aria-label="Reload" onClick={() => void loadAccount()} />
        <Button small icon="plus" aria-label="New database" onClick={() => setDialog({ what: 'new-db' })} />
      </div>
      {state.error !== null && <div style={{ padding: 10 }}><ErrorNote error={state.error} retry={() => void loadAccount()} /></div>}
      {state.databases === null && state.error === null && <div style={{ padding: 14 }}><Spinner /></div>}
      {state.databases?.length === 0 && <p className="muted" style={{ padding: '4px 14px' }}>No databases yet. Create one with the plus sign.</p>}
      {nodes.length > 0 && <VirtualList className="tree" count={nodes.length} rowHeight={28} activeIndex={active} role="tree" aria-label="Databases and containers" tabIndex={0}
        aria-activedescendant={nodes[active] ? `node-${active}` : undefined} onKeyDown={onKey}
        row={(i) => {
          const node = nodes[i]!;
          if (node.kind === 'note')
            return <div className="node muted" role="treeitem" id={`node-${i}`} aria-level={2} aria-selected={false} style={{ paddingLeft: 44, cursor: 'default' }}>{node.text}</div>;
          const database = node.kind === 'database';
          return (
            <div className={`node${isSelected(node) ? ' selected' : ''}${i === active ? ' active' : ''}`} id={`node-${i}`} role="treeitem"
              aria-level={database ? 1 : 2} aria-selected={isSelected(node)} aria-expanded={database ? node.open : undefined}
              style={database ? undefined : { paddingLeft: 28 }} title={database ? node.db : node.coll}
              onClick={() => { setActive(i); enter(node); }}>
              {database && (
                <span className="row" onClick={(e) => { e.stopPropagation(); setOpen(node.db, !node.open); }} aria-hidden="true">
                  <Icon name={node.open ? 'down' : 'chevron'} size={12} />
                </span>
              )}
              <Icon name={database ? 'database' : 'container'} />
              <span className="grow">{database ? node.db : node.coll}</span>
              <span className="more" onClick={(e) => e.stopPropagation()}>
                <Menu label={`Actions for ${database ? node.db : node.coll}`} className="btn quiet icon small" trigger={<Icon name="more" size={14} />} entries={menuOf(node)} />
              </span>
            </div>
          );
        }} />}
      {dialog?.what === 'new-db' && <NewDatabase onClose={() => setDialog(null)} />}
      {dialog?.what === 'new-coll' && <NewContainer db={dialog.db} onClose={() => setDialog(null)} />}
      {dialog?.what === 'drop-db' && <DeleteDatabase db={dialog.db} onClose={() => setDialog(null)} />}
      {dialog?.what === 'drop-coll' && <DeleteContainer db={dialog.db} coll={dialog.coll} onClose={() => setDialog(null)} />}
    </>
  );
}
