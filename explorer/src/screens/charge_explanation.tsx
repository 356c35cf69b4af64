import { count } from '../lib/format';

interface Term {
  term: string;
  of?: string;
  count: number;
  requestUnits: number;
}

interface Bill {
  requestCharge: number;
  profile?: string;
  terms: Term[];
}

/// The server's names of terms, for people.
const TERMS: Record<string, string> = {
  compileAndRun: 'Compile and run', firstSeek: 'First index look-up', furtherSeeks: 'Further look-ups', indexEntries: 'Index entries read', joinTuples: 'JOIN tuples',
  loadedItems: 'Items loaded', loadedBytes: 'Bytes loaded', returnedBytes: 'Bytes returned', readBytes: 'Bytes read', writeBytes: 'Bytes written', replacedBytes: 'Bytes replaced',
  deletedBytes: 'Bytes deleted', termsAdded: 'Index terms added', termsRemoved: 'Index terms removed', termsChanged: 'Index terms changed', patchOperations: 'Patch operations',
  udfCalls: 'Function calls', storedProcedure: 'Stored procedure', trigger: 'Trigger', strongConsistency: 'Strong consistency', leastOfAPage: 'Least of a page',
  notModified: 'Not modified', failure: 'Failed operation', other: 'Other',
};

const isBill = (value: unknown): value is Bill => typeof value === 'object' && value !== null && Array.isArray((value as Bill).terms);

/// The server's account of a charge, term by term, over all pages; nothing where the server gives none.
export function ChargeExplanation({ explanations }: { explanations: unknown[] }) {
  const bills = explanations.filter(isBill);
  if (bills.length === 0) return null;
  const sums = new Map<string, { term: string; of: string; count: number; ru: number }>();
  for (const bill of bills)
    for (const { term, of = '', count: n, requestUnits } of bill.terms) {
      const key = `${of}\n${term}`;
      const sum = sums.get(key) ?? { term, of, count: 0, ru: 0 };
      sum.count += n;
      sum.ru += requestUnits;
      sums.set(key, sum);
    }
  const lines = [...sums.values()];
  const largest = Math.max(...lines.map((l) => l.ru), 1e-9);
  return (
    <div className="kv num" style={{ maxWidth: 640 }} role="group" aria-label="Why it cost this">
      {lines.map((line) => [
        <span key={`${line.of}${line.term}l`}>{TERMS[line.term] ?? line.term}{line.of && <span className="muted"> · {line.of}</span>} <span className="muted">× {count(line.count)}</span></span>,
        <span key={`${line.of}${line.term}b`}><span className="bar" style={{ display: 'block', width: `${(100 * line.ru) / largest}%` }} /></span>,
        <span key={`${line.of}${line.term}v`} style={{ textAlign: 'right' }}>{line.ru.toFixed(3)} RU</span>,
      ])}
    </div>
  );
}
