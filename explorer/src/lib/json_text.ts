import type { Json } from '../wire/types';

/// JSON as text, without loss: numbers keep their digits (64-bit integers survive), members their order.

/// Index after the string that starts at `at`.
function skipString(text: string, at: number): number {
  for (++at; at < text.length; ++at) {
    if (text[at] === '\\') ++at;
    else if (text[at] === '"') return at + 1;
  }
  return at;
}

const isBlank = (c: string | undefined): boolean => c === ' ' || c === '\n' || c === '\r' || c === '\t';

function skipBlanks(text: string, at: number): number {
  while (isBlank(text[at])) ++at;
  return at;
}

/// Index after the value that starts at `at`.
function skipValue(text: string, at: number): number {
  const c = text[at];
  if (c === '"') return skipString(text, at);
  if (c === '{' || c === '[') {
    let depth = 0;
    while (at < text.length) {
      const d = text[at];
      if (d === '"') {
        at = skipString(text, at);
        continue;
      }
      if (d === '{' || d === '[') ++depth;
      if (d === '}' || d === ']') {
        --depth;
        if (depth === 0) return at + 1;
      }
      ++at;
    }
    return at;
  }
  while (at < text.length && !/[,\]}\s]/.test(text[at]!)) ++at;
  return at;
}

/// The members of an object's text, or nothing when it is no object.
export function members(text: string): { name: string; value: string }[] {
  const found: { name: string; value: string }[] = [];
  let at = skipBlanks(text, 0);
  if (text[at] !== '{') return found;
  ++at;
  for (;;) {
    at = skipBlanks(text, at);
    if (text[at] !== '"') return found;
    const nameEnd = skipString(text, at);
    const name = JSON.parse(text.slice(at, nameEnd)) as string;
    at = skipBlanks(text, nameEnd) + 1;
    at = skipBlanks(text, at);
    const end = skipValue(text, at);
    found.push({ name, value: text.slice(at, end) });
    at = skipBlanks(text, end);
    if (text[at] !== ',') return found;
    ++at;
  }
}

/// The texts of an array's elements, or nothing when it is no array.
export function elements(text: string): string[] {
  const found: string[] = [];
  let at = skipBlanks(text, 0);
  if (text[at] !== '[') return found;
  at = skipBlanks(text, at + 1);
  while (at < text.length && text[at] !== ']') {
    const end = skipValue(text, at);
    if (end === at) return found;
    found.push(text.slice(at, end));
    at = skipBlanks(text, end);
    if (text[at] === ',') at = skipBlanks(text, at + 1);
  }
  return found;
}

/// Valid JSON with line breaks and two blanks per level. Empty arrays and objects stay on their line.
export function pretty(text: string, startDepth = 0): string {
  let out = '';
  let depth = startDepth;
  let at = 0;
  const line = () => '\n' + '  '.repeat(depth);
  while (at < text.length) {
    const c = text[at]!;
    if (c === '"') {
      const end = skipString(text, at);
      out += text.slice(at, end);
      at = end;
      continue;
    }
    if (c === '{' || c === '[') {
      const next = skipBlanks(text, at + 1);
      if (text[next] === '}' || text[next] === ']') {
        out += c + text[next];
        at = next + 1;
        continue;
      }
      ++depth;
      out += c + line();
    } else if (c === '}' || c === ']') {
      --depth;
      out += line() + c;
    } else if (c === ',') out += ',' + line();
    else if (c === ':') out += ': ';
    else if (!isBlank(c)) out += c;
    ++at;
  }
  return out;
}

/// How many bytes a text has without the white space between its tokens: what the server stores and charges.
export function storedBytes(text: string): number {
  let blanks = 0;
  for (let at = 0; at < text.length; ) {
    if (text[at] === '"') at = skipString(text, at);
    else if (isBlank(text[at++]!)) ++blanks;
  }
  return new TextEncoder().encode(text).length - blanks;
}

export const SYSTEM_MEMBERS = new Set(['_rid', '_self', '_etag', '_attachments', '_ts']);

/// The object's text without the members that the server adds.
export function withoutSystem(text: string): string {
  const kept = members(text).filter((m) => !SYSTEM_MEMBERS.has(m.name));
  return '{' + kept.map((m) => JSON.stringify(m.name) + ':' + m.value).join(',') + '}';
}

/// The object's text with another value for one of its members.
export function withMember(text: string, name: string, value: string): string {
  return '{' + members(text).map((m) => JSON.stringify(m.name) + ':' + (m.name === name ? value : m.value)).join(',') + '}';
}

type SourceContext = { source?: string };

/// Like JSON.parse, but integers beyond 2^53 come as bigint (where the browser shows their digits).
export function parse(text: string): Json {
  if (!/\d{16}/.test(text)) return JSON.parse(text) as Json;
  const reviver = (_: string, value: unknown, context?: SourceContext): unknown => {
    if (typeof value !== 'number' || Number.isSafeInteger(value) || !Number.isInteger(value)) return value;
    return context?.source && /^-?\d+$/.test(context.source) ? BigInt(context.source) : value;
  };
  return JSON.parse(text, reviver as (this: unknown, key: string, value: unknown) => unknown) as Json;
}

export function stringify(value: Json | undefined): string {
  if (value === undefined) return '';
  if (typeof value === 'bigint') return value.toString();
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return '[' + value.map(stringify).join(',') + ']';
  return (
    '{' +
    Object.entries(value)
      .map(([name, member]) => JSON.stringify(name) + ':' + stringify(member))
      .join(',') +
    '}'
  );
}
