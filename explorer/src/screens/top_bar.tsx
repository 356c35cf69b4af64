import icon from '../icon.svg';
import { useStore } from '../lib/hooks';
import { hrefOf, route } from '../route';
import { signOut } from '../session';
import { chooseTheme, themeChoice } from '../theme';
import { Button } from '../ui/controls';
import { Icon } from '../ui/icons';
import { Menu } from '../ui/menu';

export function TopBar({ onSide, onPalette, onShortcuts }: { onSide: () => void; onPalette: () => void; onShortcuts: () => void }) {
  const at = useStore(route);
  const theme = useStore(themeChoice);
  const mark = (choice: string) => (theme === choice ? { icon: 'check' as const } : {});
  return (
    <header className="topbar">
      <Button look="quiet" icon="menu" aria-label="Show databases" className="side-toggle" onClick={onSide} />
      <a className="brand" href="#/" aria-label="Orrery, start page"><img src={icon} alt="" /><span className="hide-narrow">Orrery</span></a>
      <nav className="crumbs grow" aria-label="Where you are">
        {at.page !== 'home' && (<><Icon name="chevron" size={12} /><a href={hrefOf({ page: 'database', db: at.db })}>{at.db}</a></>)}
        {at.page === 'container' && (<><Icon name="chevron" size={12} /><a href={hrefOf({ ...at, tab: 'items' })}>{at.coll}</a></>)}
      </nav>
      <Button look="quiet" icon="search" onClick={onPalette} title="Go to a container or page"><span className="sr-narrow">Go to…</span><kbd className="hide-narrow">Ctrl K</kbd></Button>
      <Menu label="Colours" className="btn quiet icon" trigger={<Icon name={document.documentElement.dataset.theme === 'dark' ? 'moon' : 'sun'} />}
        entries={[
          { label: 'As the system', ...mark('system'), run: () => chooseTheme('system') },
          { label: 'Light', ...mark('light'), run: () => chooseTheme('light') },
          { label: 'Dark', ...mark('dark'), run: () => chooseTheme('dark') },
        ]} />
      <Menu label="Account" className="btn quiet icon" trigger={<Icon name="key" />} title={location.host}
        entries={[
          { label: 'Keyboard shortcuts', icon: 'script', run: onShortcuts },
          { label: 'Sign out', icon: 'out', run: signOut },
        ]} />
    </header>
  );
}
