import { WireError } from './error';
import { authorization } from './sign';

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  charge: number;
  ms: number;
}

export interface Ask {
  headers?: Record<string, string>;
  body?: string;
  signal?: AbortSignal;
  /// What the URL carries after the path, with its question mark. It is not signed.
  search?: string;
  /// Called when the server asked to come back later (429) and the client will do so.
  onThrottled?: (waitMs: number) => void;
}

const RETRIES_MAX = 9;

const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(done, ms);
    function done() {
      signal?.removeEventListener('abort', stop);
      resolve();
    }
    function stop() {
      clearTimeout(timer);
      reject(new DOMException('aborted', 'AbortError'));
    }
    signal?.addEventListener('abort', stop, { once: true });
  });

export const encodePath = (segments: string[]): string => '/' + segments.map(encodeURIComponent).join('/');

/// Marks what the page does for itself: the Design Lab judges applications, not those who look at them.
export const HOUSEKEEPING = { 'x-orrery-housekeeping': 'true' };

/// Speaks the ordinary protocol to the server that served the page.
export class Client {
  /// Requests that came back with 429 since sign-in, retried ones included.
  throttled = 0;
  /// Told the path of every request that was answered with 404.
  readonly onMissing = new Set<(path: string) => void>();

  constructor(
    private readonly key: CryptoKey,
    private readonly onUnauthorized: () => void,
  ) {}

  /// Links alternate type and name: ['dbs', 'a', 'colls', 'b'] signs as a resource, an odd number as a feed of the last type.
  request(verb: string, segments: string[], ask: Ask = {}): Promise<Answer> {
    const feed = segments.length % 2 === 1;
    const type = segments.length === 0 ? '' : segments[segments.length - (feed ? 1 : 2)]!;
    let link = (feed ? segments.slice(0, -1) : segments).join('/');
    if (type === 'offers' && !feed) link = segments[segments.length - 1]!.toLowerCase();
    return this.send(verb, type, link, encodePath(segments), ask);
  }

  /// The server's own endpoints, outside the protocol.
  own(verb: string, segments: string[], ask: Ask = {}): Promise<Answer> {
    return this.send(verb, '_orrery', segments.join('/'), encodePath(['_orrery', ...segments]), ask);
  }

  private async send(verb: string, type: string, link: string, path: string, ask: Ask): Promise<Answer> {
    for (let attempt = 0; ; ++attempt) {
      const answer = await this.once(verb, type, link, path + (ask.search ?? ''), ask);
      if (answer.status < 400) return answer;
      const error = WireError.from(answer.status, answer.headers, answer.text);
      if (answer.status === 429) {
        ++this.throttled;
        if (attempt < RETRIES_MAX) {
          const wait = Math.max(1, error.retryAfterMs);
          ask.onThrottled?.(wait);
          await pause(wait, ask.signal);
          continue;
        }
      }
      if (answer.status === 401) this.onUnauthorized();
      if (answer.status === 404) this.onMissing.forEach((tell) => tell(path));
      throw error;
    }
  }

  private async once(verb: string, type: string, link: string, path: string, ask: Ask): Promise<Answer> {
    const date = new Date().toUTCString();
    const headers: Record<string, string> = {
      accept: 'application/json',
      'x-ms-version': '2020-07-15',
      'x-ms-date': date,
      authorization: await authorization(this.key, verb, type, link, date),
      ...ask.headers,
    };
    if (ask.body !== undefined && !headers['content-type']) headers['content-type'] = 'application/json';
    const began = performance.now();
    let response: Response;
    let text: string;
    try {
      response = await fetch(path, { method: verb, headers, body: ask.body, signal: ask.signal, cache: 'no-store' });
      text = await response.text();
    } catch (error) {
      if (error instanceof DOMException && error.name === 'AbortError') throw error;
      throw new WireError(0, 0, '', 'The connection failed. Is the server still running?', [], 0, 0);
    }
    return {
      status: response.status,
      headers: response.headers,
      text,
      charge: Number(response.headers.get('x-ms-request-charge') ?? 0),
      ms: performance.now() - began,
    };
  }
}
