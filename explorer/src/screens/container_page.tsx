import { useCallback, useEffect, useState } from 'react';
import { account, loadContainers, loadOffers } from '../account';
import { bytes, plural } from '../lib/format';
import { useLoaded, useStore } from '../lib/hooks';
import { go, hrefOf, type ContainerTab } from '../route';
import { session } from '../session';
import { Button, ErrorNote, Missing, Note, Spinner } from '../ui/controls';
import { Boundary, later } from '../ui/later';
import { Tabs } from '../ui/tabs';
import { readContainer, type ContainerState } from '../wire/api';
import { encodePath } from '../wire/client';
import { isMissing } from '../wire/error';
import type { Container } from '../wire/types';
import { offerText } from './database_page';
import { Items } from './items';

const Query = later(() => import('./query').then((m) => m.Query));
const Scripts = later(() => import('./scripts').then((m) => m.Scripts));
const Feed = later(() => import('./feed').then((m) => m.Feed));
const Scale = later(() => import('./scale').then((m) => m.Scale));
const Lab = later(() => import('./lab').then((m) => m.Lab));
const Settings = later(() => import('./settings').then((m) => m.Settings));

const TABS: { value: ContainerTab; label: string }[] = [
  { value: 'items', label: 'Items' },
  { value: 'query', label: 'Query' },
  { value: 'scripts', label: 'Scripts' },
  { value: 'feed', label: 'Change feed' },
  { value: 'scale', label: 'Scale' },
  { value: 'lab', label: 'Design Lab' },
  { value: 'settings', label: 'Settings' },
];

export interface ContainerProps {
  db: string;
  container: Container;
  /// Asks the server again for definition and usage.
  refresh: () => void;
  state: ContainerState;
}

export function ContainerPage({ db, coll, tab }: { db: string; coll: string; tab: ContainerTab }) {
  const client = useStore(session)!;
  const { offers } = useStore(account);
  const loaded = useLoaded((signal) => readContainer(client, db, coll, signal), [db, coll]);
  const [visited, setVisited] = useState<Set<ContainerTab>>(new Set());
  if (!visited.has(tab)) setVisited(new Set([...visited, tab]));
  const refresh = useCallback(() => {
    loaded.reload();
    void loadContainers(db);
  }, [db, loaded.reload]);
  const state = loaded.data;
  const rid = state?.container._rid;
  useEffect(() => {
    if (rid && account.get().databases && !account.get().offers[rid]) void loadOffers();
  }, [rid]);
  // A view that does not find something may be the first to learn that the whole container is gone.
  const [gone, setGone] = useState(false);
  useEffect(() => {
    const own = encodePath(['dbs', db, 'colls', coll]);
    const tell = (path: string) => {
      if (path === own) {
        setGone(true);
        void loadContainers(db);
      } else if (!gone && (path.startsWith(`${own}/`) || path.startsWith(encodePath(['_orrery', 'containers', db, coll])))) loaded.reload();
    };
    client.onMissing.add(tell);
    return () => void client.onMissing.delete(tell);
  }, [client, db, coll, gone, loaded.reload]);
  if (!state && isMissing(loaded.error))
    return (
      <Missing icon="container" title={`There is no container “${coll}” in ${db}`} href={hrefOf({ page: 'database', db })} back={`Containers of ${db}`} retry={loaded.reload}>
        It may have been deleted, or the address has a typing mistake.
      </Missing>
    );
  if (!state)
    return (
      <div className="page">
        <div className="inner">{loaded.error !== null ? <ErrorNote error={loaded.error} retry={loaded.reload} /> : <Spinner />}</div>
      </div>
    );
  const { container, usage } = state;
  const offer = offers[container._rid];
  const props: ContainerProps = { db, container, refresh, state };
  const panels: Partial<Record<ContainerTab, React.ReactNode>> = {
    items: <Items {...props} />,
    query: <Query {...props} />,
    scripts: <Scripts {...props} />,
    feed: <Feed {...props} />,
    scale: <Scale {...props} />,
    lab: <Lab {...props} />,
    settings: <Settings {...props} />,
  };
  return (
    <>
      {gone && (
        <div role="alert" style={{ padding: '10px 16px 0' }}>
          <Note kind="bad">
            <div className="row wrap">
              <span className="grow">The container “{coll}” does not exist any more. What you see here is what it was; nothing can be saved to it.</span>
              <Button small onClick={() => { setGone(false); refresh(); }}>Try again</Button>
              <a className="btn small" href={hrefOf({ page: 'database', db })}>Containers of {db}</a>
            </div>
          </Note>
        </div>
      )}
      <div className="chead">
        <div className="row wrap" style={{ alignItems: 'baseline', gap: '2px 18px' }}>
          <h1>{coll}</h1>
          <div className="facts">
            <span>Key <b className="mono">{container.partitionKey?.paths.join(' / ')}</b></span>
            {usage && <span><b className="num">{plural(usage.items, 'item')}</b></span>}
            {usage && <span className="hide-narrow"><b className="num">{bytes(usage.kilobytes * 1024)}</b></span>}
            <span className="hide-narrow"><b>{offer ? offerText(offer) : 'throughput of the database'}</b></span>
            {state.indexProgress !== null && state.indexProgress < 100 && <span className="badge warn">index {state.indexProgress} %</span>}
          </div>
        </div>
        <Tabs label="Views of the container" panelId="container-panel" value={tab} tabs={TABS} onChange={(next) => go({ page: 'container', db, coll, tab: next })} />
      </div>
      {/* Visited views stay alive: a query and its rows are there when one comes back. */}
      {TABS.filter((t) => visited.has(t.value)).map((t) => (
        <div key={t.value} className="tabpanel" role="tabpanel" id={t.value === tab ? 'container-panel' : undefined} aria-labelledby={`container-panel-${t.value}`} hidden={t.value !== tab}
          style={t.value === tab ? undefined : { display: 'none' }}>
          <Boundary>{panels[t.value]}</Boundary>
        </div>
      ))}
    </>
  );
}
