import { useEffect, useRef, type KeyboardEvent, type ReactNode } from 'react';

export function Tabs<T extends string>({ label, value, tabs, onChange, small, panelId }: {
  label: string;
  value: T;
  tabs: { value: T; label: ReactNode }[];
  onChange: (value: T) => void;
  small?: boolean;
  panelId: string;
}) {
  const box = useRef<HTMLDivElement>(null);
  // On a narrow window the row of tabs is wider than the page.
  useEffect(() => {
    box.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [value]);
  const onKey = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const at = tabs.findIndex((tab) => tab.value === value);
    const next = tabs[(at + step + tabs.length) % tabs.length]!;
    onChange(next.value);
    (event.currentTarget as HTMLElement).querySelector<HTMLElement>(`[data-tab="${next.value}"]`)?.focus();
  };
  return (
    <div ref={box} className={`tabs${small ? ' small' : ''}`} role="tablist" aria-label={label} onKeyDown={onKey}>
      {tabs.map((tab) => (
        <button key={tab.value} type="button" role="tab" data-tab={tab.value} id={`${panelId}-${tab.value}`}
          aria-selected={tab.value === value} aria-controls={tab.value === value ? panelId : undefined}
          tabIndex={tab.value === value ? 0 : -1} onClick={() => onChange(tab.value)}>
          {tab.label}
        </button>
      ))}
    </div>
  );
}
