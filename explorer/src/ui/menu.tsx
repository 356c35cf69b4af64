import { useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from 'react';
import { createPortal } from 'react-dom';
import { Icon, type IconName } from './icons';

export interface MenuEntry {
  label: ReactNode;
  icon?: IconName;
  danger?: boolean;
  hint?: string;
  run: () => void;
}

const LEAST_ROOM = 240;

/// A button that opens a list of actions. Arrow keys move, Escape closes and gives the focus back.
export function Menu({ label, trigger, entries, align = 'right', className = 'btn', title, empty }: {
  label: string;
  trigger: ReactNode;
  entries: (MenuEntry | 'line')[];
  align?: 'left' | 'right';
  className?: string;
  title?: string;
  empty?: string;
}) {
  const [open, setOpen] = useState<{ left?: number; right?: number; top: number } | null>(null);
  const anchor = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return;
    list.current?.querySelector<HTMLElement>('[role=menuitem]')?.focus();
    const outside = (event: MouseEvent) => {
      if (!anchor.current?.contains(event.target as Node) && !list.current?.contains(event.target as Node)) setOpen(null);
    };
    const close = () => setOpen(null);
    document.addEventListener('mousedown', outside);
    addEventListener('resize', close);
    return () => {
      document.removeEventListener('mousedown', outside);
      removeEventListener('resize', close);
    };
  }, [open]);
  /// Drawn outside the page's boxes, which would cut it, and inside the dialog that makes everything else inert.
  const show = () => {
    const rect = button.current!.getBoundingClientRect();
    const top = Math.min(rect.bottom + 4, innerHeight - Math.min(entries.length * 32 + 20, innerHeight * 0.6));
    // Towards the side where there is room for a wide entry.
    setOpen(align === 'left' || rect.right < LEAST_ROOM ? { left: Math.max(8, Math.min(rect.left, innerWidth - LEAST_ROOM)), top } : { right: innerWidth - rect.right, top });
  };
  const onKey = (event: KeyboardEvent) => {
    if (!open) return;
    const items = [...(list.current?.querySelectorAll<HTMLElement>('[role=menuitem]') ?? [])];
    const at = items.indexOf(document.activeElement as HTMLElement);
    if (event.key === 'Escape') {
      event.stopPropagation();
      event.preventDefault();
      setOpen(null);
      button.current?.focus();
    } else if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      event.stopPropagation();
      items[(at + (event.key === 'ArrowDown' ? 1 : -1) + items.length) % items.length]?.focus();
    } else if (event.key === 'Tab') setOpen(null);
  };
  return (
    <div className="menu-anchor" ref={anchor} onKeyDown={onKey}>
      <button type="button" ref={button} className={className} aria-haspopup="menu" aria-expanded={open !== null} aria-label={label}
        title={label}
        onClick={(event) => {
          event.stopPropagation();
          if (open) setOpen(null);
          else show();
        }}>
        {trigger}
      </button>
      {open && createPortal(
        <div className="menu" role="menu" aria-label={label} ref={list} style={open}>
          {title && <div className="title" role="presentation">{title}</div>}
          {entries.length === 0 && <div className="title" role="menuitem" tabIndex={-1}>{empty ?? 'Nothing here'}</div>}
          {entries.map((entry, i) =>
            entry === 'line' ? (
              <hr key={i} />
            ) : (
              <button key={i} type="button" role="menuitem" className={entry.danger ? 'danger' : ''} title={entry.hint}
                onClick={(event) => {
                  event.stopPropagation();
                  setOpen(null);
                  button.current?.focus();
                  entry.run();
                }}>
                {entry.icon && <Icon name={entry.icon} />}
                <span className="grow ellipsis">{entry.label}</span>
              </button>
            ),
          )}
        </div>,
        anchor.current?.closest('dialog') ?? document.body,
      )}
    </div>
  );
}
