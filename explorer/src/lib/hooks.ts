import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from 'react';
import { isAbort } from '../wire/error';

export interface Loaded<T> {
  data: T | null;
  error: unknown;
  loading: boolean;
  reload: () => void;
  set: (data: T) => void;
}

/// Loads when the dependencies change, drops answers that come too late, keeps the last data while it reloads.
export function useLoaded<T>(load: (signal: AbortSignal) => Promise<T>, deps: unknown[]): Loaded<T> {
  const [state, setState] = useState<{ data: T | null; error: unknown; loading: boolean; deps: unknown }>({
    data: null, error: null, loading: true, deps: null,
  });
  const [round, setRound] = useState(0);
  const identity = JSON.stringify(deps);
  const loader = useRef(load);
  loader.current = load;
  useEffect(() => {
    const control = new AbortController();
    setState((s) => ({ data: s.deps === identity ? s.data : null, error: null, loading: true, deps: identity }));
    loader.current(control.signal).then(
      (data) => {
        if (!control.signal.aborted) setState({ data, error: null, loading: false, deps: identity });
      },
      (error: unknown) => {
        if (!control.signal.aborted && !isAbort(error)) setState((s) => ({ ...s, error, loading: false }));
      },
    );
    return () => control.abort();
  }, [identity, round]);
  const reload = useCallback(() => setRound((r) => r + 1), []);
  const set = useCallback((data: T) => setState((s) => ({ ...s, data, error: null, loading: false })), []);
  return { data: state.data, error: state.error, loading: state.loading, reload, set };
}

/// A value kept in localStorage under the application's prefix.
export function useStored<T>(name: string, initial: T): [T, (value: T) => void] {
  const full = `orrery.${name}`;
  const [value, setValue] = useState<T>(() => readStored(name, initial));
  const known = useRef(full);
  useEffect(() => {
    if (known.current === full) return;
    known.current = full;
    setValue(readStored(name, initial));
  });
  return [
    value,
    (next) => {
      setValue(next);
      writeStored(name, next);
    },
  ];
}

export function readStored<T>(name: string, initial: T): T {
  try {
    const text = localStorage.getItem(`orrery.${name}`);
    return text === null ? initial : (JSON.parse(text) as T);
  } catch {
    return initial;
  }
}

export function writeStored(name: string, value: unknown): void {
  try {
    localStorage.setItem(`orrery.${name}`, JSON.stringify(value));
  } catch {
    // The browser's quota is full: the value lives until the page is closed.
  }
}

export class Store<T> {
  private readonly listeners = new Set<() => void>();
  constructor(private value: T) {}
  get = (): T => this.value;
  set(value: T): void {
    this.value = value;
    this.listeners.forEach((listener) => listener());
  }
  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };
}

export const useStore = <T>(store: Store<T>): T => useSyncExternalStore(store.subscribe, store.get);
