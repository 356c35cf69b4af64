import { useEffect, useMemo, useState } from 'react';
import { account, loadContainers } from '../account';
import { useStore } from '../lib/hooks';
import { CONTAINER_TABS, go, route, type Route } from '../route';
import { Icon, type IconName } from '../ui/icons';

interface Entry {
  label: string;
  hint: string;
  icon: IconName;
  to: Route;
}

export function Palette({ onClose }: { onClose: () => void }) {
  const state = useStore(account);
  const at = useStore(route);
  const [text, setText] = useState('');
  const [active, setActive] = useState(0);
  useEffect(() => {
    for (const db of state.databases ?? []) if (!state.containers[db.id]) void loadContainers(db.id);
  }, [state.databases]);
  const entries = useMemo(() => {
    const all: Entry[] = [];
    if (at.page === 'container')
      for (const tab of CONTAINER_TABS) all.push({ label: tab[0]!.toUpperCase() + tab.slice(1), hint: at.coll, icon: 'chevron', to: { ...at, tab } });
    for (const db of state.databases ?? []) {
      const list = state.containers[db.id];
      if (Array.isArray(list))
        for (const c of list) all.push({ label: c.id, hint: db.id, icon: 'container', to: { page: 'container', db: db.id, coll: c.id, tab: 'items' } });
      all.push({ label: db.id, hint: 'database', icon: 'database', to: { page: 'database', db: db.id } });
    }
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    return all.filter((e) => words.every((w) => `${e.hint} ${e.label}`.toLowerCase().includes(w))).slice(0, 50);
  }, [state, at, text]);
  const choose = (entry: Entry | undefined) => {
    if (!entry) return;
    onClose();
    go(entry.to);
  };
  return (
    <div className="palette" onMouseDown={(e) => e.target === e.currentTarget && onClose()}>
      <div className="box" role="dialog" aria-modal="true" aria-label="Go to">
        <input role="combobox" aria-label="Go to a container or page" aria-expanded="true" aria-controls="palette-list" autoFocus
          aria-activedescendant={entries.length ? `palette-${active}` : undefined} placeholder="Database, container or page" value={text} spellCheck={false}
          onChange={(e) => { setText(e.target.value); setActive(0); }}
          onKeyDown={(e) => {
            if (e.key === 'Escape') onClose();
            else if (e.key === 'Enter') choose(entries[active]);
            else if (e.key === 'ArrowDown') { e.preventDefault(); setActive(Math.min(active + 1, entries.length - 1)); }
            else if (e.key === 'ArrowUp') { e.preventDefault(); setActive(Math.max(active - 1, 0)); }
            else if (e.key === 'Tab') e.preventDefault();
          }} />
        <ul id="palette-list" role="listbox" aria-label="Matches">
          {entries.map((entry, i) => (
            <li key={i} id={`palette-${i}`} role="option" aria-selected={i === active} onMouseMove={() => setActive(i)} onClick={() => choose(entry)}
              ref={(li) => { if (i === active) li?.scrollIntoView({ block: 'nearest' }); }}>
              <Icon name={entry.icon} />
              <span className="grow ellipsis">{entry.label}</span>
              <span className="muted small ellipsis">{entry.hint}</span>
            </li>
          ))}
          {entries.length === 0 && <li role="option" aria-selected={false} className="muted">Nothing has that name</li>}
        </ul>
      </div>
    </div>
  );
}
