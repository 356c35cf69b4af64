import type { ComputedProperty, IndexingPolicy } from '../wire/types';

/// Checks of policies before they are sent: what the server would refuse, said while one types.

const KNOWN = new Set(['indexingMode', 'automatic', 'includedPaths', 'excludedPaths', 'compositeIndexes', 'spatialIndexes', 'vectorIndexes', 'fullTextIndexes']);
const SPATIAL = new Set(['Point', 'LineString', 'Polygon', 'MultiPolygon']);

const isPath = (path: unknown): path is string => typeof path === 'string' && path.startsWith('/');

export function policyProblems(text: string): { policy: IndexingPolicy | null; problems: string[] } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    return { policy: null, problems: [(error as Error).message] };
  }
  if (parsed === null || typeof parsed !== 'object' || Array.isArray(parsed)) return { policy: null, problems: ['The policy is a JSON object.'] };
  const policy = parsed as IndexingPolicy & Record<string, unknown>;
  const problems: string[] = [];
  for (const name of Object.keys(policy)) if (!KNOWN.has(name)) problems.push(`“${name}” is not part of an indexing policy.`);
  const mode = policy.indexingMode?.toLowerCase();
  if (mode !== undefined && mode !== 'consistent' && mode !== 'none') problems.push('indexingMode is “consistent” or “none”.');
  const list = (name: 'includedPaths' | 'excludedPaths'): { path: string }[] => {
    const value = policy[name];
    if (value === undefined) return [];
    if (!Array.isArray(value)) {
      problems.push(`${name} is a list of {"path": …}.`);
      return [];
    }
    value.forEach((entry, i) => {
      if (!isPath(entry?.path)) problems.push(`${name}[${i}]: a path starts with “/”.`);
      else if (!/(\/\*|\/\?)$/.test(entry.path)) problems.push(`${name}[${i}]: “${entry.path}” ends neither in “/?” (the value) nor in “/*” (everything below).`);
    });
    return value;
  };
  const included = list('includedPaths');
  const excluded = list('excludedPaths');
  const all = [...included, ...excluded].map((e) => e?.path);
  if (mode !== 'none' && !all.includes('/*')) problems.push('“/*” must be included or excluded.');
  const twice = all.find((path, i) => all.indexOf(path) !== i);
  if (twice) problems.push(`“${twice}” stands there twice.`);
  if (policy.compositeIndexes !== undefined) {
    if (!Array.isArray(policy.compositeIndexes)) problems.push('compositeIndexes is a list of lists of {"path", "order"}.');
    else
      policy.compositeIndexes.forEach((composite, i) => {
        if (!Array.isArray(composite) || composite.length < 2) problems.push(`compositeIndexes[${i}] needs at least two paths.`);
        else if (composite.length > 8) problems.push(`compositeIndexes[${i}] has more than eight paths.`);
        else
          composite.forEach((entry, j) => {
            if (!isPath(entry?.path)) problems.push(`compositeIndexes[${i}][${j}]: a path starts with “/”.`);
            else if (/\/[*?]$/.test(entry.path)) problems.push(`compositeIndexes[${i}][${j}]: “${entry.path}” names the property itself, without “/?” or “/*”.`);
            if (entry?.order !== undefined && !['ascending', 'descending'].includes(entry.order)) problems.push(`compositeIndexes[${i}][${j}]: order is “ascending” or “descending”.`);
          });
      });
  }
  if (policy.spatialIndexes !== undefined && Array.isArray(policy.spatialIndexes))
    policy.spatialIndexes.forEach((entry, i) => {
      if (!isPath(entry?.path) || !/(\/\*|\/\?)$/.test(entry.path)) problems.push(`spatialIndexes[${i}]: a path that ends in “/*” or “/?”.`);
      for (const type of entry?.types ?? []) if (!SPATIAL.has(type)) problems.push(`spatialIndexes[${i}]: “${type}” is none of Point, LineString, Polygon, MultiPolygon.`);
    });
  return { policy, problems };
}

export function keyPathProblem(path: string): string | null {
  if (!path) return 'A path such as /tenantId.';
  if (!path.startsWith('/')) return 'A path starts with “/”.';
  if (path.endsWith('/') || path.includes('//')) return 'A path names properties, separated by single “/”.';
  if (/[*?[\]]/.test(path)) return 'A key path has no “*”, “?” or “[ ]”.';
  return null;
}

export function idProblem(id: string): string | null {
  if (!id) return 'A name is needed.';
  if (/[/\\?#]/.test(id)) return 'A name has none of / \\ ? #';
  if (id.endsWith(' ')) return 'A name does not end in a blank.';
  if (id.length > 255) return 'At most 255 characters.';
  return null;
}

export function computedProblems(list: ComputedProperty[]): string | null {
  const names = new Set<string>();
  for (const { name, query } of list) {
    if (!name || !query) return 'Each computed property has a name and a query.';
    if (names.has(name)) return `“${name}” stands there twice.`;
    names.add(name);
    if (!/^\s*SELECT\s+VALUE\b/i.test(query)) return `“${name}”: the query has the form SELECT VALUE … FROM c.`;
  }
  return list.length > 20 ? 'At most 20 computed properties.' : null;
}

export const DEFAULT_POLICY: IndexingPolicy = {
  indexingMode: 'consistent',
  automatic: true,
  includedPaths: [{ path: '/*' }],
  excludedPaths: [{ path: '/"_etag"/?' }],
};

/// The policy with what index metrics recommend. Composite entries come as "/a ASC".
export function withIndexes(policy: IndexingPolicy, singles: string[], composites: string[][]): IndexingPolicy {
  const next: IndexingPolicy = structuredClone(policy);
  const included = new Set((next.includedPaths ?? []).map((e) => e.path));
  for (const path of singles) {
    // A subtree names a spatial index.
    if (path.endsWith('/*')) {
      if (!(next.spatialIndexes ?? []).some((e) => e.path === path)) next.spatialIndexes = [...(next.spatialIndexes ?? []), { path, types: [...SPATIAL] }];
      continue;
    }
    if (!included.has(path)) next.includedPaths = [...(next.includedPaths ?? []), { path }];
    next.excludedPaths = (next.excludedPaths ?? []).filter((e) => e.path !== path);
  }
  for (const composite of composites) {
    const entry = composite.map((spec) => {
      const [path, order] = spec.split(/\s+/);
      return { path: path!.replace(/\/\?$/, ''), order: /^desc/i.test(order ?? '') ? 'descending' : 'ascending' };
    });
    const known = (next.compositeIndexes ?? []).some((c) => JSON.stringify(c) === JSON.stringify(entry));
    if (!known) next.compositeIndexes = [...(next.compositeIndexes ?? []), entry];
  }
  return next;
}
