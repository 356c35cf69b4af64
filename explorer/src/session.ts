import { Store } from './lib/hooks';
import { Client } from './wire/client';
import { importKey, WELL_KNOWN_KEY } from './wire/sign';

const KEPT = 'orrery.key';

export const session = new Store<Client | null>(null);

/// The server has stopped accepting the key: what is open waits, unseen, for another sign-in.
export const refused = new Store(false);

export const isLoopback = (): boolean => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(location.hostname);

/// Signatures are made by the browser's own cryptography, which it offers to secure origins only.
export const canSign = (): boolean => globalThis.isSecureContext && crypto.subtle !== undefined;

/// Checks the key against the server and keeps it for this tab. Throws the server's refusal.
export async function signIn(key: string, keep = true): Promise<void> {
  let imported: CryptoKey;
  try {
    imported = await importKey(key);
  } catch {
    throw new Error('A key is base64 text, for example what the server printed when it started. This one is not.');
  }
  const client = new Client(imported, () => undefined);
  await client.request('GET', []);
  if (keep) sessionStorage.setItem(KEPT, key);
  // Late answers to a client that was replaced meanwhile say nothing about this one.
  const signedIn: Client = new Client(imported, () => session.get() === signedIn && refused.set(true));
  session.set(signedIn);
  refused.set(false);
}

export function signOut(): void {
  sessionStorage.removeItem(KEPT);
  sessionStorage.setItem('orrery.signed-out', '1');
  refused.set(false);
  session.set(null);
}

/// True once the server has refused the key that everybody knows: it has one of its own.
export let ownKeyNeeded = false;

/// Signs in with what is at hand: the key of this tab, or on loopback the key that everybody knows. True when it worked.
export async function resume(): Promise<boolean> {
  if (!canSign()) return false;
  const kept = sessionStorage.getItem(KEPT);
  const candidate = kept ?? (isLoopback() && !sessionStorage.getItem('orrery.signed-out') ? WELL_KNOWN_KEY : null);
  if (!candidate) return false;
  try {
    await signIn(candidate, kept !== null);
    return true;
  } catch {
    ownKeyNeeded = kept === null;
    return false;
  }
}
