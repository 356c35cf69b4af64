import { Store } from './lib/hooks';

export const CONTAINER_TABS = ['items', 'query', 'scripts', 'feed', 'scale', 'lab', 'settings'] as const;
export type ContainerTab = (typeof CONTAINER_TABS)[number];

export type Route =
  | { page: 'home' }
  | { page: 'database'; db: string }
  | { page: 'container'; db: string; coll: string; tab: ContainerTab };

function parse(hash: string): Route {
  let parts: string[];
  try {
    parts = hash.replace(/^#\/?/, '').split('/').filter(Boolean).map(decodeURIComponent);
  } catch {
    return { page: 'home' };
  }
  const [dbs, db, colls, coll, tab] = parts;
  if (dbs !== 'dbs' || !db) return { page: 'home' };
  if (colls !== 'colls' || !coll) return { page: 'database', db };
  const known = CONTAINER_TABS.find((t) => t === tab) ?? 'items';
  return { page: 'container', db, coll, tab: known };
}

export const hrefOf = (to: Route): string => {
  if (to.page === 'home') return '#/';
  const database = `#/dbs/${encodeURIComponent(to.db)}`;
  return to.page === 'database' ? database : `${database}/colls/${encodeURIComponent(to.coll)}/${to.tab}`;
};

export const route = new Store<Route>(parse(location.hash));

/// Views of one container stay alive while another of them is shown: nothing is left by going from one to the other.
const samePage = (a: Route, b: Route): boolean =>
  a.page === 'container' && b.page === 'container' && a.db === b.db && a.coll === b.coll;

/// Questions asked before the page is left; a refusal keeps it.
const guards = new Set<() => boolean>();
export function guardLeaving(guard: () => boolean): () => void {
  guards.add(guard);
  return () => guards.delete(guard);
}

let current = location.hash;
addEventListener('hashchange', () => {
  if (location.hash === current) return;
  const next = parse(location.hash);
  if (!samePage(route.get(), next) && [...guards].some((guard) => !guard())) {
    history.replaceState(null, '', current || '#/');
    return;
  }
  current = location.hash;
  route.set(next);
});

addEventListener('beforeunload', (event) => {
  if (dirty()) event.preventDefault();
});

const dirtyChecks = new Set<() => boolean>();
export const dirty = (): boolean => [...dirtyChecks].some((check) => check());
export function reportDirty(check: () => boolean): () => void {
  dirtyChecks.add(check);
  return () => dirtyChecks.delete(check);
}

export const go = (to: Route): void => {
  location.hash = hrefOf(to);
};
