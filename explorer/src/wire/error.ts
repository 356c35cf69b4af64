import { FileProblem } from '../lib/files';

export interface QueryErrorDetail {
  code: string;
  message: string;
  severity?: string;
  /// What to do about it, for a person.
  hint?: string;
  location?: { start: number; end: number };
}

/// The thing asked for is not there.
export const isMissing = (error: unknown): boolean => error instanceof WireError && error.status === 404;

/// Not the item but the container around it is not there.
export const isParentMissing = (error: unknown): boolean => isMissing(error) && /^Owner resource does not exist/.test((error as WireError).message);

/// What a script logged, from an answer's headers.
export function scriptLog(headers: Headers): string {
  const log = headers.get('x-ms-documentdb-script-log-results') ?? '';
  try {
    return decodeURIComponent(log.replaceAll('+', '%20'));
  } catch {
    return log;
  }
}

/// An answer of 400 or above, or no answer at all (status 0).
export class WireError extends Error {
  constructor(
    readonly status: number,
    readonly substatus: number,
    readonly code: string,
    message: string,
    readonly details: QueryErrorDetail[],
    readonly charge: number,
    readonly retryAfterMs: number,
    /// What a script had logged before it failed.
    readonly log = '',
  ) {
    super(message);
  }

  static from(status: number, headers: Headers, body: string): WireError {
    let code = '';
    let message = '';
    let details: QueryErrorDetail[] = [];
    try {
      const parsed = JSON.parse(body) as { code?: string; message?: string };
      code = parsed.code ?? '';
      message = parsed.message ?? '';
    } catch {
      message = body.slice(0, 400);
    }
    // "Message: {nested JSON}\r\nActivityId: …": the nested text is what a person wants to read.
    const cut = message.search(/\r?\nActivityId:/);
    if (cut >= 0) message = message.slice(0, cut);
    if (message.startsWith('Message: ')) {
      const nested = message.slice('Message: '.length);
      try {
        const inner = JSON.parse(nested) as { Errors?: string[]; errors?: QueryErrorDetail[] };
        if (inner.Errors) message = inner.Errors.join('\n');
        else if (inner.errors) {
          details = inner.errors;
          message = inner.errors.map((e) => (e.code ? `${e.code}: ${e.message}` : e.message) + (e.hint ? ` ${e.hint}` : '')).join('\n');
        }
      } catch {
        message = nested;
      }
    }
    return new WireError(
      status,
      Number(headers.get('x-ms-substatus') ?? 0),
      code,
      message || `The server answered ${status}.`,
      details,
      Number(headers.get('x-ms-request-charge') ?? 0),
      Number(headers.get('x-ms-retry-after-ms') ?? 0),
      scriptLog(headers),
    );
  }
}

export const isAbort = (error: unknown): boolean => error instanceof DOMException && error.name === 'AbortError';

/// One sentence for a person, and what to do about it where that is known.
export function describe(error: unknown): { title: string; text: string } {
  if (error instanceof WireError) {
    const titles: Record<number, string> = {
      0: 'The server does not answer',
      400: 'The server refused the request',
      401: 'The key is not accepted',
      403: 'Not allowed',
      404: 'Not found',
      408: 'It took too long',
      409: 'It already exists',
      412: 'It was changed meanwhile',
      413: 'Too large',
      429: 'Too many requests',
      503: 'The server is not available',
      507: 'The store is read-only',
    };
    const text = /^Request size is too large/.test(error.message) ? 'An item takes at most 2 MB of JSON. Split it into several items of the same partition key.' : error.message;
    return { title: titles[error.status] ?? `Error ${error.status}`, text };
  }
  if (error instanceof FileProblem) return { title: 'Nothing was uploaded', text: error.message };
  return { title: 'Something went wrong', text: error instanceof Error ? error.message : String(error) };
}
