import { useSyncExternalStore } from 'react';
import { describe } from '../wire/error';
import { Button } from './controls';
import { Icon } from './icons';

interface Toast {
  id: number;
  text: string;
  bad: boolean;
  action?: { label: string; run: () => void } | undefined;
}

let toasts: Toast[] = [];
let next = 1;
const listeners = new Set<() => void>();
const set = (list: Toast[]) => {
  toasts = list;
  listeners.forEach((listener) => listener());
};
const dismiss = (id: number) => set(toasts.filter((t) => t.id !== id));

export function toast(text: string, options: { bad?: boolean; action?: Toast['action'] } = {}): void {
  const id = next++;
  set([...toasts.slice(-3), { id, text, bad: options.bad ?? false, action: options.action }]);
  setTimeout(() => dismiss(id), options.action || options.bad ? 10_000 : 4_000);
}

export function toastError(error: unknown): void {
  const { title, text } = describe(error);
  toast(`${title}: ${text}`, { bad: true });
}

export function Toasts() {
  const list = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  return (
    <div className="toasts" role="status" aria-live="polite">
      {list.map((t) => (
        <div key={t.id} className={`toast${t.bad ? ' bad' : ''}`}>
          <Icon name={t.bad ? 'warn' : 'check'} />
          <div className="body">{t.text}</div>
          {t.action && (
            <Button small onClick={() => { dismiss(t.id); t.action!.run(); }}>{t.action.label}</Button>
          )}
          <Button small look="quiet" icon="close" aria-label="Dismiss" onClick={() => dismiss(t.id)} />
        </div>
      ))}
    </div>
  );
}
