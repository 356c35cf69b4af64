import { useState } from 'react';
import { account } from '../account';
import { plural } from '../lib/format';
import { useStore } from '../lib/hooks';
import { hrefOf } from '../route';
import { Button, Empty, Spinner } from '../ui/controls';
import { Icon } from '../ui/icons';
import { NewDatabase } from './dialogs';

export function Home() {
  const state = useStore(account);
  const [creating, setCreating] = useState(false);
  const databases = state.databases;
  return (
    <div className="page">
      <div className="inner">
        <div className="row">
          <h1 className="grow">Databases</h1>
          {databases && databases.length > 0 && <Button look="primary" icon="plus" onClick={() => setCreating(true)}>New database</Button>}
        </div>
        {databases === null && state.error === null && <Spinner />}
        {databases?.length === 0 && (
          <div className="card">
            <Empty icon="database" title="Nothing here yet">
              <p>A database holds containers, and containers hold items. Create one here, or let your program do it: connect an SDK to <b className="mono">{location.origin}/</b></p>
              <Button look="primary" icon="plus" onClick={() => setCreating(true)}>Create the first database</Button>
            </Empty>
          </div>
        )}
        {databases && databases.length > 0 && (
          <div className="tiles">
            {databases.map((db) => {
              const list = state.containers[db.id];
              const offer = state.offers[db._rid];
              return (
                <a key={db.id} className="tile" href={hrefOf({ page: 'database', db: db.id })}>
                  <span className="row"><Icon name="database" /><b>{db.id}</b></span>
                  <span className="small muted">
                    {Array.isArray(list) ? plural(list.length, 'container') : 'Open to see its containers'}
                    {offer ? ' · shared throughput' : ''}
                  </span>
                </a>
              );
            })}
          </div>
        )}
        <div className="card pad col">
          <h3>Connect a program</h3>
          <p className="muted">Any official SDK, in gateway mode:</p>
          <pre className="mono" tabIndex={0} aria-label="Connection string" style={{ margin: 0, padding: 12, background: 'var(--sunken)', borderRadius: 'var(--r-1)', overflow: 'auto' }}>
            AccountEndpoint={location.origin}/;AccountKey=…;
          </pre>
        </div>
      </div>
      {creating && <NewDatabase onClose={() => setCreating(false)} />}
    </div>
  );
}
