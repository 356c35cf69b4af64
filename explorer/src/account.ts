import { readStored, Store, writeStored } from './lib/hooks';
import { session } from './session';
import { listContainers, listDatabases, listOffers } from './wire/api';
import type { Container, Database, Offer } from './wire/types';

/// What the tree shows: databases, and the containers of those that were opened.
export interface Account {
  databases: Database[] | null;
  containers: Record<string, Container[] | 'loading' | { error: unknown }>;
  offers: Record<string, Offer>;
  error: unknown;
  open: Record<string, boolean>;
}

const fresh = (): Account => ({ databases: null, containers: {}, offers: {}, error: null, open: readStored('tree.open', {}) });

export const account = new Store<Account>(fresh());
const patch = (change: Partial<Account>) => account.set({ ...account.get(), ...change });

session.subscribe(() => account.set(fresh()));

/// "orders-9" before "orders-10".
const names = new Intl.Collator('en', { numeric: true });
const byName = (a: { id: string }, b: { id: string }): number => names.compare(a.id, b.id);

export async function loadAccount(): Promise<void> {
  const client = session.get();
  if (!client) return;
  try {
    const [databases, offers] = await Promise.all([listDatabases(client), listOffers(client).catch(() => [])]);
    databases.sort(byName);
    patch({ databases, error: null, offers: Object.fromEntries(offers.map((o) => [o.offerResourceId, o])) });
    const { open, containers } = account.get();
    const only = databases.length === 1 ? databases[0]!.id : null;
    await Promise.all(databases.filter((d) => open[d.id] || d.id === only || containers[d.id]).map((d) => loadContainers(d.id)));
    if (only && open[only] === undefined) setOpen(only, true);
  } catch (error) {
    patch({ error });
  }
}

export async function loadOffers(): Promise<void> {
  const client = session.get();
  if (!client) return;
  const offers = await listOffers(client).catch(() => null);
  if (offers) patch({ offers: Object.fromEntries(offers.map((o) => [o.offerResourceId, o])) });
}

export async function loadContainers(db: string): Promise<void> {
  const client = session.get();
  if (!client) return;
  const put = (value: Account['containers'][string]) => patch({ containers: { ...account.get().containers, [db]: value } });
  if (!Array.isArray(account.get().containers[db])) put('loading');
  try {
    const list = await listContainers(client, db);
    // One that was made since the offers were read: nobody knows yet whether it has a throughput of its own.
    if (list.some((c) => !account.get().offers[c._rid])) await loadOffers();
    put(list.sort(byName));
  } catch (error) {
    put({ error });
  }
}

export function setOpen(db: string, open: boolean): void {
  const next = { ...account.get().open, [db]: open };
  patch({ open: next });
  writeStored('tree.open', next);
  if (open && !account.get().containers[db]) void loadContainers(db);
}
