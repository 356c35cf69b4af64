import type { Client } from './client';

/// The Design Lab of the server: what its rules say, what-if runs, costs.

export type Severity = 'info' | 'low' | 'medium' | 'high' | 'critical';

export interface LabChart {
  kind: 'bars' | 'lines' | 'heat';
  title: string;
  unit: string;
  labels: string[];
  series: { name: string; values: number[] }[];
}

export interface Finding {
  rule: number;
  name: string;
  title: string;
  severity: Severity;
  summary: string;
  evidence: { name: string; value: number; unit: string }[];
  chart?: LabChart;
  change: { kind: string; text: string; json?: unknown; query?: string };
  saving: { ruPerMonth: number; microDollarsPerMonth: number; note: string };
}

export interface ContainerReport {
  database: string;
  container: string;
  observedSeconds: number;
  findings: Finding[];
  quiet: number[];
  noEvidence: { rule: number; title: string; needs: string }[];
}

export interface Report {
  worst: Severity | 'none';
  savedMicroDollarsPerMonth: number;
  containers: ContainerReport[];
}

export interface CostOption {
  name: 'manual' | 'autoscale' | 'serverless' | 'reserved1y' | 'reserved3y';
  possible: boolean;
  whyNot?: string;
  throughputRu: number;
  throughputMicroDollars: number;
  storageMicroDollars: number;
  backupMicroDollars: number;
  totalMicroDollars: number;
}

export interface CostForm {
  peakRuPerSecond: number;
  ruPerMonth: number;
  hourlyPeakPercent: number;
  storageMb: number;
  regions: number;
  multiRegionWrites: boolean;
  zoneRedundant: boolean;
  freeTier: boolean;
  backup: 'periodic' | 'continuous7' | 'continuous30';
}

export interface Costs {
  input: CostForm & { hourlyPeaks: number[] };
  options: CostOption[];
  cheapest: string;
  savesMicroDollars: number;
}

export interface Candidate {
  keyPaths: string[];
  score: number;
  served: number;
  distinct: number;
  largestShare: number;
  timeBased: boolean;
  why: string;
}

export interface Outcome {
  keyPaths: string[];
  ran: boolean;
  whyNot?: string;
  partitions: number;
  logicalPartitions: number;
  largestKey: string;
  largestKeyShare: number;
  largestKeyBytes: number;
  partitionBytes: number[];
  partitionRu: number[];
  ruBySecond: number[];
  simulatedSeconds: number;
  operations: number;
  refused: number;
  givenUp: number;
  failed: number;
  failure: string;
  ru: number;
  ruPerOperation: number;
  queries: number;
  rangesPerQuery: number;
  fanOutQueries: number;
  waitP50Ms: number;
  waitP99Ms: number;
  executeP50Us: number;
  executeP99Us: number;
  idConflicts: number;
  cost?: Costs;
}

export interface WhatIf {
  id: number;
  state: 'waiting' | 'running' | 'done' | 'cancelled' | 'failed';
  progress: number;
  error?: string;
  elapsedMs: number;
  workload: { name: string; note: string; operationsPerSecond: number; bytes: number };
  scale: { data: number; traffic: number; throughput: number };
  proposals: Candidate[];
  candidates: string[][];
  outcomes: Outcome[];
}

export interface Demo {
  name: string;
  title: string;
  text: string;
  throughput: number;
  candidates: string[][];
}

export interface Relation {
  now: 'embedded' | 'referenced';
  path: string;
  target: string;
  advice: 'embed' | 'reference' | 'mixed';
  why: string;
  elementsP50: number;
  elementsP99: number;
  elementBytes: number;
  restBytes: number;
  reads: number;
  updates: number;
  relationUpdates: number;
  grows: boolean;
  embeddedRuPerMonth: number;
  referencedRuPerMonth: number;
  savedMicroDollarsPerMonth: number;
}

const of = (db: string, coll: string, what: string): string[] => ['containers', db, coll, 'lab', what];

async function get<T>(client: Client, segments: string[], search = '', signal?: AbortSignal): Promise<T> {
  return JSON.parse((await client.own('GET', segments, { search, ...(signal ? { signal } : {}) })).text) as T;
}

async function post<T>(client: Client, segments: string[], body: unknown): Promise<T> {
  return JSON.parse((await client.own('POST', segments, { body: JSON.stringify(body) })).text) as T;
}

export const readReport = (client: Client, db: string, coll: string, signal?: AbortSignal): Promise<Report> => get(client, of(db, coll, 'report'), '', signal);
export const readReportText = async (client: Client, db: string, coll: string, format: 'md' | 'html' | 'json'): Promise<string> =>
  (await client.own('GET', of(db, coll, 'report'), { search: `?format=${format}&observations=true` })).text;
export const readRelations = (client: Client, db: string, coll: string, signal?: AbortSignal): Promise<{ samples: number; relations: Relation[] }> => get(client, of(db, coll, 'relations'), '', signal);
export const readMeasuredCost = (client: Client, db: string, coll: string, signal?: AbortSignal): Promise<{ measured: boolean; why?: string; costs?: Costs }> => get(client, of(db, coll, 'cost'), '', signal);
export const computeCost = (client: Client, form: CostForm): Promise<Costs> => post(client, ['lab', 'cost'], form);
export const readDemos = (client: Client, signal?: AbortSignal): Promise<Demo[]> => get(client, ['lab', 'demos'], '', signal);
export const readCandidates = (client: Client, db: string, coll: string, signal?: AbortSignal): Promise<{ recorded: boolean; why?: string; candidates: Candidate[] }> => get(client, of(db, coll, 'candidates'), '', signal);
export const startWhatIf = (client: Client, body: unknown): Promise<{ id: number }> => post(client, ['lab', 'what-if'], body);
export const readWhatIf = (client: Client, id: number, signal?: AbortSignal): Promise<WhatIf> => get(client, ['lab', 'what-if'], `?id=${id}`, signal);
export const cancelWhatIf = async (client: Client, id: number): Promise<void> => {
  await client.own('DELETE', ['lab', 'what-if'], { search: `?id=${id}` });
};
