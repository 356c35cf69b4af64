import { HighlightStyle, StreamLanguage, syntaxHighlighting } from '@codemirror/language';
import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import { tags } from '@lezer/highlight';

const KEYWORDS = (
  'SELECT VALUE DISTINCT TOP FROM JOIN IN WHERE AND OR NOT BETWEEN LIKE ESCAPE EXISTS ARRAY ORDER BY ASC DESC GROUP ' +
  'OFFSET LIMIT AS ROOT ALL'
).split(' ');
const ATOMS = ['true', 'false', 'null', 'undefined'];

/// Function names with their parameters, as a completion shows them.
export const FUNCTIONS: Record<string, string> = {
  ABS: 'number', ACOS: 'number', ARRAY_AVG: 'array', ARRAY_CONCAT: 'array, array, …', ARRAY_CONTAINS: 'array, value, partial?',
  ARRAY_CONTAINS_ALL: 'array, value, …', ARRAY_CONTAINS_ANY: 'array, value, …', ARRAY_LENGTH: 'array', ARRAY_MAX: 'array',
  ARRAY_MEDIAN: 'array', ARRAY_MIN: 'array', ARRAY_SLICE: 'array, start, length?', ARRAY_SUM: 'array', ASIN: 'number', ATAN: 'number',
  ATN2: 'y, x', AVG: 'expression', CEILING: 'number', CHOOSE: 'index, value, …', CONCAT: 'string, string, …',
  CONTAINS: 'string, part, ignoreCase?', COS: 'number', COT: 'number', COUNT: 'expression', DateTimeAdd: 'part, number, dateTime',
  DateTimeBin: 'dateTime, part, size?, origin?', DateTimeDiff: 'part, start, end', DateTimeFromParts: 'year, month, day, …',
  DateTimePart: 'part, dateTime', DateTimeToTicks: 'dateTime', DateTimeToTimestamp: 'dateTime', DEGREES: 'number',
  DOCUMENTID: 'c', ENDSWITH: 'string, end, ignoreCase?', EXP: 'number', FLOOR: 'number', GetCurrentDateTime: '',
  GetCurrentTicks: '', GetCurrentTimestamp: '', IIF: 'condition, then, else', INDEX_OF: 'string, part, start?', IntAdd: 'a, b',
  IntBitAnd: 'a, b', IntBitLeftShift: 'a, b', IntBitNot: 'a', IntBitOr: 'a, b', IntBitRightShift: 'a, b', IntBitXor: 'a, b',
  IntDiv: 'a, b', IntMod: 'a, b', IntMul: 'a, b', IntSub: 'a, b', IS_ARRAY: 'expression', IS_BOOL: 'expression',
  IS_DEFINED: 'expression', IS_FINITE_NUMBER: 'expression', IS_INTEGER: 'expression', IS_NULL: 'expression',
  IS_NUMBER: 'expression', IS_OBJECT: 'expression', IS_PRIMITIVE: 'expression', IS_STRING: 'expression', LEFT: 'string, length',
  LENGTH: 'string', LOG: 'number, base?', LOG10: 'number', LOWER: 'string', LTRIM: 'string, characters?', MAX: 'expression',
  MIN: 'expression', NumberBin: 'number, size?', ObjectToArray: 'object, keyName?, valueName?', PI: '', POWER: 'number, exponent',
  RADIANS: 'number', RAND: '', RegexMatch: 'string, pattern, modifiers?', REPLACE: 'string, find, replacement',
  REPLICATE: 'string, times', REVERSE: 'string', RIGHT: 'string, length', ROUND: 'number, digits?', RTRIM: 'string, characters?',
  SetDifference: 'array, array', SetEqual: 'array, array', SetIntersect: 'array, array', SetUnion: 'array, array', SIGN: 'number',
  SIN: 'number', SQRT: 'number', SQUARE: 'number', STARTSWITH: 'string, start, ignoreCase?', STRINGEQUALS: 'string, string, ignoreCase?',
  StringJoin: 'array, separator', StringSplit: 'string, separator', StringToArray: 'string', StringToBoolean: 'string',
  StringToNull: 'string', StringToNumber: 'string', StringToObject: 'string', ST_AREA: 'geometry', ST_DISTANCE: 'geometry, geometry',
  ST_INTERSECTS: 'geometry, geometry', ST_ISVALID: 'geometry', ST_ISVALIDDETAILED: 'geometry', ST_WITHIN: 'geometry, polygon',
  SUBSTRING: 'string, start, length', SUM: 'expression', TAN: 'number', TicksToDateTime: 'ticks', TimestampToDateTime: 'milliseconds',
  ToString: 'expression', TRIM: 'string, characters?', TRUNC: 'number', UPPER: 'string',
};

const keywordSet = new Set(KEYWORDS);
const functionSet = new Set(Object.keys(FUNCTIONS).map((name) => name.toUpperCase()));

const sqlLanguage = StreamLanguage.define<{ inComment: boolean }>({
  startState: () => ({ inComment: false }),
  token(stream, state) {
    if (state.inComment) {
      if (stream.match(/.*?\*\//)) state.inComment = false;
      else stream.skipToEnd();
      return 'comment';
    }
    if (stream.eatSpace()) return null;
    if (stream.match('--')) {
      stream.skipToEnd();
      return 'comment';
    }
    if (stream.match('/*')) {
      state.inComment = true;
      return 'comment';
    }
    if (stream.match(/"(?:[^"\\]|\\.)*"?/) || stream.match(/'(?:[^'\\]|\\.)*'?/)) return 'string';
    if (stream.match(/\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/)) return 'number';
    if (stream.match(/@\w+/)) return 'meta';
    if (stream.match(/[A-Za-z_]\w*/)) {
      const word = stream.current();
      const before = stream.string.slice(0, stream.start).trimEnd();
      if (before.endsWith('.')) return 'propertyName';
      if (functionSet.has(word.toUpperCase()) && /^\s*\(/.test(stream.string.slice(stream.pos))) return 'function';
      if (keywordSet.has(word.toUpperCase())) return 'keyword';
      if (ATOMS.includes(word)) return 'atom';
      return 'variableName';
    }
    stream.next();
    return 'operator';
  },
  languageData: { commentTokens: { line: '--', block: { open: '/*', close: '*/' } }, closeBrackets: { brackets: ['(', '[', '{', '"', "'"] } },
  tokenTable: { function: tags.function(tags.variableName), meta: tags.meta },
});

export const sql = () => sqlLanguage;

/// What completion knows of a container: its paths with the kinds of values seen there.
export interface PathInfo {
  kinds: Set<string>;
  children: Map<string, PathInfo>;
}

const emptyPath = (): PathInfo => ({ kinds: new Set(), children: new Map() });

export function learnPaths(rows: unknown[]): PathInfo {
  const root = emptyPath();
  const walk = (value: unknown, into: PathInfo, depth: number) => {
    if (depth > 8) return;
    if (Array.isArray(value)) {
      into.kinds.add('array');
      for (const element of value.slice(0, 5)) walk(element, into, depth + 1);
    } else if (value !== null && typeof value === 'object') {
      into.kinds.add('object');
      for (const [name, member] of Object.entries(value)) {
        let child = into.children.get(name);
        if (!child) into.children.set(name, (child = emptyPath()));
        walk(member, child, depth + 1);
      }
    } else into.kinds.add(value === null ? 'null' : typeof value);
  };
  rows.forEach((row) => walk(row, root, 0));
  return root;
}

const plainName = /^[A-Za-z_]\w*$/;

/// Completes paths after an alias, and functions, keywords and aliases elsewhere.
export function completeSql(paths: () => PathInfo | null, names: () => string[]) {
  return (context: CompletionContext): CompletionResult | null => {
    const text = context.state.doc.toString();
    const before = text.slice(0, context.pos);
    const aliases = new Map<string, string[]>([['c', []], ['root', []]]);
    const from = /\bFROM\s+(\w+)(?:\s+(?:AS\s+)?(?!JOIN\b|WHERE\b|ORDER\b|GROUP\b|OFFSET\b)(\w+))?/i.exec(text);
    if (from) aliases.set(from[2] ?? from[1]!, []);
    for (const join of text.matchAll(/\bJOIN\s+(\w+)\s+IN\s+(\w+)((?:\.\w+)*)/gi)) {
      const base = aliases.get(join[2]!);
      if (base) aliases.set(join[1]!, [...base, ...join[3]!.split('.').filter(Boolean)]);
    }
    const path = /(\w+)((?:\.\w+|\["[^"]*"\]|\[\d+\])*)\.(\w*)$/.exec(before);
    if (path) {
      const start = aliases.get(path[1]!);
      let node = paths();
      if (!start || !node) return null;
      const steps = [...start, ...[...path[2]!.matchAll(/\.(\w+)|\["([^"]*)"\]/g)].map((m) => m[1] ?? m[2]!)];
      for (const step of steps) node = node?.children.get(step) ?? null;
      if (!node) return null;
      const options: Completion[] = [...node.children].map(([name, info]) => ({
        label: name,
        type: 'property',
        detail: [...info.kinds].join(' | '),
        ...(plainName.test(name) ? {} : { apply: (view, _c, at, to) => view.dispatch({ changes: { from: at - 1, to, insert: `[${JSON.stringify(name)}]` }, selection: { anchor: at - 1 + JSON.stringify(name).length + 2 } }) }),
      }));
      return { from: context.pos - path[3]!.length, options, validFor: /^\w*$/ };
    }
    const word = context.matchBefore(/[@\w]+/);
    if (!word && !context.explicit) return null;
    const options: Completion[] = [
      ...KEYWORDS.map((label) => ({ label, type: 'keyword' })),
      ...Object.entries(FUNCTIONS).map(([label, parameters]) => ({
        label, type: 'function', detail: `(${parameters})`, apply: `${label}(`, boost: -1,
      })),
      ...[...aliases.keys()].filter((a) => a !== 'root').map((label) => ({ label, type: 'variable', boost: 2 })),
      ...names().map((label) => ({ label, type: 'constant', boost: 3 })),
    ];
    return { from: word ? word.from : context.pos, options, validFor: /^[@\w]*$/ };
  };
}

export const highlight = syntaxHighlighting(
  HighlightStyle.define([
    { tag: tags.keyword, color: 'var(--syn-keyword)', fontWeight: '600' },
    { tag: [tags.function(tags.variableName), tags.function(tags.propertyName)], color: 'var(--syn-function)' },
    { tag: tags.propertyName, color: 'var(--syn-key)' },
    { tag: [tags.string, tags.regexp], color: 'var(--syn-string)' },
    { tag: tags.number, color: 'var(--syn-number)' },
    { tag: [tags.atom, tags.bool, tags.null], color: 'var(--syn-atom)' },
    { tag: tags.comment, color: 'var(--syn-comment)', fontStyle: 'italic' },
    { tag: tags.meta, color: 'var(--syn-param)' },
    { tag: tags.invalid, color: 'var(--bad)' },
  ]),
);
