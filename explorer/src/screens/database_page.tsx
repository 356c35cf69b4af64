import { useEffect, useState } from 'react';
import { account, loadContainers } from '../account';
import { count } from '../lib/format';
import { useLoaded, useStore } from '../lib/hooks';
import { hrefOf } from '../route';
import { session } from '../session';
import { Button, Empty, ErrorNote, Missing, Spinner } from '../ui/controls';
import { Icon } from '../ui/icons';
import { throughputOf } from '../wire/api';
import { isMissing } from '../wire/error';
import type { Offer } from '../wire/types';
import { DeleteDatabase, NewContainer } from './dialogs';
import { OfferEditor } from './offer_editor';

export const offerText = (offer: Offer): string => {
  const t = throughputOf(offer);
  return t.mode === 'autoscale' ? `autoscale up to ${count(t.max)} RU/s` : t.mode === 'manual' ? `${count(t.ru)} RU/s` : '';
};

export function DatabasePage({ db }: { db: string }) {
  const client = useStore(session)!;
  const state = useStore(account);
  const [dialog, setDialog] = useState<'new' | 'drop' | null>(null);
  useEffect(() => {
    if (!account.get().containers[db]) void loadContainers(db);
  }, [db]);
  const database = useLoaded(async (signal) => JSON.parse((await client.request('GET', ['dbs', db], { signal })).text) as { _rid: string }, [db]);
  const containers = state.containers[db];
  const list = Array.isArray(containers) ? containers : null;
  if (isMissing(database.error))
    return (
      <Missing icon="database" title={`There is no database “${db}”`} href={hrefOf({ page: 'home' })} back="All databases" retry={database.reload}>
        It may have been deleted, or the address has a typing mistake.
      </Missing>
    );
  return (
    <div className="page">
      <div className="inner">
        <div className="row wrap">
          <h1 style={{ flex: '1 1 auto', maxWidth: '100%', overflowWrap: 'anywhere' }}>{db}</h1>
          <Button look="danger" icon="trash" onClick={() => setDialog('drop')}>Delete</Button>
          <Button look="primary" icon="plus" onClick={() => setDialog('new')}>New container</Button>
        </div>
        {database.error !== null && <ErrorNote error={database.error} retry={database.reload} />}
        {containers === 'loading' && <Spinner />}
        {containers && !list && containers !== 'loading' && database.error === null && <ErrorNote error={(containers as { error: unknown }).error} retry={() => void loadContainers(db)} />}
        {list?.length === 0 && (
          <div className="card">
            <Empty icon="container" title="No containers yet">
              <p>A container spreads its items over partitions by a key that you choose: take a property that most of your queries name.</p>
              <Button look="primary" icon="plus" onClick={() => setDialog('new')}>Create a container</Button>
            </Empty>
          </div>
        )}
        {list && list.length > 0 && (
          <div className="tiles">
            {list.slice(0, 400).map((c) => (
              <a key={c.id} className="tile" href={hrefOf({ page: 'container', db, coll: c.id, tab: 'items' })} title={c.id}>
                <span className="row"><Icon name="container" /><b>{c.id}</b></span>
                <span className="small muted ellipsis mono">{c.partitionKey?.paths.join(' / ')}</span>
                <span className="small muted">{state.offers[c._rid] ? offerText(state.offers[c._rid]!) : 'throughput of the database'}</span>
              </a>
            ))}
          </div>
        )}
        {list && list.length > 400 && <p className="muted">and {count(list.length - 400)} more, in the list on the left.</p>}
        {database.data && (
          <div className="card section">
            <h3>Throughput</h3>
            <OfferEditor rid={database.data._rid} absent="Containers of this database have their own throughput. To share one among them, it has to be created that way." />
          </div>
        )}
      </div>
      {dialog === 'new' && <NewContainer db={db} onClose={() => setDialog(null)} />}
      {dialog === 'drop' && <DeleteDatabase db={db} onClose={() => setDialog(null)} />}
    </div>
  );
}
