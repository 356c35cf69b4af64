export type Json = null | boolean | number | bigint | string | Json[] | { [name: string]: Json };
export type JsonObject = { [name: string]: Json };

export interface Resource {
  id: string;
  _rid: string;
  _self: string;
  _etag: string;
  _ts: number;
}

export type Database = Resource;

export interface PartitionKeyDefinition {
  paths: string[];
  kind?: 'Hash' | 'MultiHash';
  version?: number;
  systemKey?: boolean;
}

export interface IndexingPolicy {
  indexingMode?: string;
  automatic?: boolean;
  includedPaths?: { path: string }[];
  excludedPaths?: { path: string }[];
  compositeIndexes?: { path: string; order?: string }[][];
  spatialIndexes?: { path: string; types?: string[] }[];
}

export interface ComputedProperty {
  name: string;
  query: string;
}

export interface ContainerDefinition {
  id: string;
  partitionKey?: PartitionKeyDefinition;
  indexingPolicy?: IndexingPolicy;
  uniqueKeyPolicy?: { uniqueKeys: { paths: string[] }[] };
  conflictResolutionPolicy?: { mode: string; conflictResolutionPath?: string; conflictResolutionProcedure?: string };
  defaultTtl?: number;
  computedProperties?: ComputedProperty[];
  geospatialConfig?: { type: string };
  changeFeedPolicy?: { retentionDuration: number };
}

export type Container = Resource & ContainerDefinition;

export interface Offer extends Resource {
  resource: string;
  offerResourceId: string;
  content: {
    offerThroughput: number;
    offerAutopilotSettings?: { maxThroughput: number };
    offerMinimumThroughputParameters?: Record<string, number>;
  };
}

export interface PkRange extends Resource {
  minInclusive: string;
  maxExclusive: string;
  parents?: string[];
  status?: string;
  throughputFraction?: number;
}

export interface Usage {
  items: number;
  kilobytes: number;
}

/// The values at the container's key paths; undefined where an item has none.
export type KeyValue = (Json | undefined)[];

export type Throughput = { mode: 'manual'; ru: number } | { mode: 'autoscale'; max: number } | { mode: 'none' };
