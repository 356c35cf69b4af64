/// Master key signatures (protocol: HMAC-SHA256 over verb, type, link and date), made by the browser itself.

/// The key of the emulators, public knowledge: servers take it on loopback only.
export const WELL_KNOWN_KEY =
  'C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==';

export async function importKey(base64: string): Promise<CryptoKey> {
  const bytes = Uint8Array.from(atob(base64.trim()), (c) => c.charCodeAt(0));
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
}

export async function authorization(
  key: CryptoKey,
  verb: string,
  type: string,
  link: string,
  date: string,
): Promise<string> {
  const text = `${verb.toLowerCase()}\n${type.toLowerCase()}\n${link}\n${date.toLowerCase()}\n\n`;
  const mac = await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(text));
  let binary = '';
  for (const byte of new Uint8Array(mac)) binary += String.fromCharCode(byte);
  return encodeURIComponent(`type=master&ver=1.0&sig=${btoa(binary)}`);
}
