import type { Client } from './client';
import { WireError } from './error';

/// The server's own endpoints: what the protocol has no word for.

export interface MinuteUse {
  charge: number;
  peak: number;
  normalized: number;
  requests: number;
  throttled: number;
}

export interface RangeUse {
  id: string;
  minInclusive: string;
  maxExclusive: string;
  parents: string[];
  items: number;
  bytes: number;
  provisioned: number;
  minutes: MinuteUse[];
  /// [charge, requests, throttled] of each second.
  seconds: [number, number, number][];
}

export interface ContainerMetrics {
  now: number;
  firstMinute: number;
  firstSecond: number;
  ranges: RangeUse[];
}

export interface TopCharge {
  total: number;
  errorMax: number;
  keys: { key: string; charge: number; error: number }[];
}

export interface TopStorage {
  complete: boolean;
  logicalPartitions: number;
  keys: { key: string; items: number; bytes: number }[];
}

export interface RangeJob {
  id: number;
  kind: 'split' | 'merge';
  rangeIds: string[];
  newRangeIds: string[];
  automatic: boolean;
  phase: 'waiting' | 'waitingForIndex' | 'copying' | 'catchingUp' | 'switching' | 'done' | 'failed';
  bytesCopied: number;
  copyMs: number;
  pauseMs: number;
  error?: string;
}

export interface Partitions {
  mapVersion: number;
  limits: { storageBytes: number; throughput: number; logicalPartitionBytes: number; automatic: boolean };
  jobs: RangeJob[];
}

const of = (db: string, coll: string, what: string) => ['containers', db, coll, what];

async function get<T>(client: Client, segments: string[], search: string, signal?: AbortSignal): Promise<T> {
  return JSON.parse((await client.own('GET', segments, { search, ...(signal ? { signal } : {}) })).text) as T;
}

export const readMetrics = (client: Client, db: string, coll: string, minutes: number, seconds: number, signal?: AbortSignal): Promise<ContainerMetrics> =>
  get(client, of(db, coll, 'metrics'), `?minutes=${minutes}&seconds=${seconds}`, signal);

/// What the container may use, and what autoscale has scaled to.
export interface ThroughputState {
  mode: 'manual' | 'autoscale' | 'serverless' | 'none';
  currentThroughput: number;
  highestThroughputOfHour: number;
}

export const readThroughput = (client: Client, db: string, coll: string, signal?: AbortSignal): Promise<ThroughputState> =>
  get(client, of(db, coll, 'throughput'), '', signal);

export const readTopCharge = (client: Client, db: string, coll: string, signal?: AbortSignal): Promise<TopCharge> =>
  get(client, of(db, coll, 'top'), '?by=charge&count=10', signal);

export const readTopStorage = (client: Client, db: string, coll: string, signal?: AbortSignal): Promise<TopStorage> =>
  get(client, of(db, coll, 'top'), '?by=storage&count=10', signal);

/// Null from a server that cannot split or merge on demand.
export async function readPartitions(client: Client, db: string, coll: string, signal?: AbortSignal): Promise<Partitions | null> {
  try {
    return await get<Partitions>(client, of(db, coll, 'partitions'), '', signal);
  } catch (error) {
    if (error instanceof WireError && (error.status === 404 || error.status === 405)) return null;
    throw error;
  }
}

export interface Forecast {
  ranges: { minInclusive: string; maxExclusive: string; items: number; bytes: number }[];
}

async function post<T>(client: Client, segments: string[], body: unknown): Promise<T> {
  return JSON.parse((await client.own('POST', segments, { body: JSON.stringify(body) })).text) as T;
}

export const forecastSplit = (client: Client, db: string, coll: string, rangeId: string): Promise<Forecast> =>
  post(client, of(db, coll, 'split'), { rangeId, whatIf: true });
export const forecastMerge = (client: Client, db: string, coll: string, rangeIds: string[]): Promise<Forecast> =>
  post(client, of(db, coll, 'merge'), { rangeIds, whatIf: true });
export const split = (client: Client, db: string, coll: string, rangeId: string): Promise<unknown> => post(client, of(db, coll, 'split'), { rangeId });
export const merge = (client: Client, db: string, coll: string, rangeIds: string[]): Promise<unknown> => post(client, of(db, coll, 'merge'), { rangeIds });
