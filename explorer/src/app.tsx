import { useEffect, useState } from 'react';
import { loadAccount } from './account';
import { useStore } from './lib/hooks';
import { route } from './route';
import { ContainerPage } from './screens/container_page';
import { DatabasePage } from './screens/database_page';
import { Home } from './screens/home';
import { Palette } from './screens/palette';
import { Shortcuts } from './screens/shortcuts';
import { SignIn } from './screens/sign_in';
import { TopBar } from './screens/top_bar';
import { Tree } from './screens/tree';
import { refused, resume, session } from './session';
import { Boundary } from './ui/later';
import { Toasts } from './ui/toast';
import { Spinner } from './ui/controls';

export function App() {
  const client = useStore(session);
  const locked = useStore(refused);
  const [tried, setTried] = useState(false);
  useEffect(() => {
    void resume().finally(() => setTried(true));
  }, []);
  return (
    <>
      {client && <div style={{ display: locked ? 'none' : 'contents' }}><Boundary><Workspace /></Boundary></div>}
      {client && !locked ? null : tried ? <SignIn /> : <div className="signin"><Spinner label="Connecting" /></div>}
      <Toasts />
    </>
  );
}

function Workspace() {
  const at = useStore(route);
  const client = useStore(session)!;
  const [side, setSide] = useState(false);
  const [overlay, setOverlay] = useState<'palette' | 'shortcuts' | null>(null);
  useEffect(() => {
    void loadAccount();
  }, [client]);
  useEffect(() => setSide(false), [at]);
  useEffect(() => {
    document.title = at.page === 'home' ? 'Orrery' : `${at.page === 'container' ? at.coll : at.db} · Orrery`;
  }, [at]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        setOverlay('palette');
      } else if (event.key === '?' && !(event.target as HTMLElement).closest('input, textarea, select, [contenteditable=true]')) setOverlay('shortcuts');
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return (
    <div className="app">
      <TopBar onSide={() => setSide(!side)} onPalette={() => setOverlay('palette')} onShortcuts={() => setOverlay('shortcuts')} />
      <nav className={`side${side ? ' open' : ''}`} aria-label="Databases and containers">
        <Tree />
      </nav>
      <main className="main" id="main">
        {at.page === 'home' && <Home />}
        {at.page === 'database' && <DatabasePage key={at.db} db={at.db} />}
        {at.page === 'container' && <ContainerPage key={`${at.db}/${at.coll}`} db={at.db} coll={at.coll} tab={at.tab} />}
      </main>
      {overlay === 'palette' && <Palette onClose={() => setOverlay(null)} />}
      {overlay === 'shortcuts' && <Shortcuts onClose={() => setOverlay(null)} />}
    </div>
  );
}
