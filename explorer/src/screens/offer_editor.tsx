import { useEffect, useState } from 'react';
import { loadAccount } from '../account';
import { count } from '../lib/format';
import { useLoaded, useStore } from '../lib/hooks';
import { session } from '../session';
import { Button, ErrorNote, Note, Spinner } from '../ui/controls';
import { toast } from '../ui/toast';
import { readOffer, replaceOffer, throughputOf } from '../wire/api';
import type { Throughput } from '../wire/types';
import { ThroughputField, throughputProblem } from './throughput';

/// Shows and changes the throughput of a database or container.
export function OfferEditor({ rid, absent, onChanged }: { rid: string; absent: string; onChanged?: () => void }) {
  const client = useStore(session)!;
  const loaded = useLoaded(() => readOffer(client, rid), [rid]);
  const [wanted, setWanted] = useState<Throughput | null>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => setWanted(loaded.data ? throughputOf(loaded.data.offer) : null), [loaded.data]);
  if (loaded.error !== null) return <ErrorNote error={loaded.error} retry={loaded.reload} />;
  if (loaded.loading && !loaded.data) return <Spinner />;
  const state = loaded.data;
  if (!state || !wanted) return <p className="muted">{absent}</p>;
  const now = throughputOf(state.offer);
  const changed = JSON.stringify(now) !== JSON.stringify(wanted);
  const problem = throughputProblem(wanted, now.mode === wanted.mode ? (state.minimum ?? undefined) : undefined);
  const save = async () => {
    setBusy(true);
    setError(null);
    try {
      const next = await replaceOffer(client, state.offer, wanted);
      loaded.set(next);
      toast('The throughput was changed.');
      onChanged?.();
      void loadAccount();
    } catch (e) {
      setError(e);
    }
    setBusy(false);
  };
  return (
    <div className="col" style={{ maxWidth: 460 }}>
      <ThroughputField headed value={wanted} onChange={setWanted} minimum={now.mode === wanted.mode ? state.minimum : null} />
      {state.pending && <Note kind="warn">The change is under way: partitions are being split. Until then the old throughput holds.</Note>}
      {now.mode !== wanted.mode && <Note>Changing the mode starts at a value that the server computes from what was provisioned so far; the value above is set afterwards.</Note>}
      {state.minimum !== null && <p className="small muted">The lowest value now: {count(state.minimum)} RU/s.</p>}
      {error !== null && <ErrorNote error={error} />}
      <div className="row"><Button look="primary" busy={busy} disabled={!changed || problem !== null} onClick={() => void save()}>Change throughput</Button></div>
    </div>
  );
}
