import type { QueryPage } from '../wire/api';

/// What a page said about itself, in headers.
export interface PlanStep {
  range: string;
  access: string;
  on: string;
  candidates: number;
  loaded: number;
  matched: number;
}

/// A clause of the query behind the steps; numbers that the server does not know are not there.
export interface PlanOperator {
  operator: string;
  on?: string;
  in?: number;
  out?: number;
}

export interface Plan {
  steps: PlanStep[];
  operators: PlanOperator[];
  charged: { range: string; seeks: number; loadedItems: number; indexEntries: number; joinTuples: number }[];
  rows: number;
  requestCharge: number;
  compileUs: number;
  planUs: number;
  indexUs: number;
  loadUs: number;
  totalUs: number;
}

export interface IndexUse {
  singles: string[];
  composites: string[][];
}

export interface Reports {
  rows: number;
  charge: number;
  ms: number;
  metrics: Record<string, number> | null;
  utilized: IndexUse | null;
  potential: IndexUse | null;
  plan: Plan | null;
  /// The server's own account of the charge, where it gives one.
  explanation: unknown;
}

function decoded<T>(text: string | null): T | null {
  if (!text) return null;
  try {
    return JSON.parse(text.startsWith('{') ? text : decodeURIComponent(text)) as T;
  } catch {
    return null;
  }
}

interface V2 {
  SingleIndexes?: { IndexSpec: string }[];
  CompositeIndexes?: { IndexSpecs: string[] }[];
}

const useOf = (part: V2 | undefined): IndexUse | null =>
  part
    ? { singles: (part.SingleIndexes ?? []).map((s) => s.IndexSpec), composites: (part.CompositeIndexes ?? []).map((c) => c.IndexSpecs) }
    : null;

export function readReports(page: QueryPage): Reports {
  const metricsText = page.headers.get('x-ms-documentdb-query-metrics');
  const indexes = decoded<{ UtilizedIndexes?: V2; PotentialIndexes?: V2 }>(page.headers.get('x-ms-cosmos-index-utilization'));
  return {
    rows: page.rows.length,
    charge: page.charge,
    ms: page.ms,
    metrics: metricsText
      ? Object.fromEntries(metricsText.split(';').map((pair) => [pair.split('=')[0]!, Number(pair.split('=')[1])]))
      : null,
    utilized: useOf(indexes?.UtilizedIndexes),
    potential: useOf(indexes?.PotentialIndexes),
    plan: decoded<Plan>(page.headers.get('x-orrery-explain')),
    explanation: decoded<unknown>(page.headers.get('x-orrery-charge-explanation')),
  };
}
