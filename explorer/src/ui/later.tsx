import { Component, useEffect, useState, type ComponentType, type ReactNode } from 'react';
import { Button, Spinner } from './controls';
import { Icon } from './icons';

/// Said where a part of the page is missing: its code could not be fetched, or it failed.
export function Broken({ what, children, retry }: { what: string; children: ReactNode; retry?: () => void }) {
  return (
    <div className="note bad" role="alert" style={{ margin: 16 }}>
      <Icon name="warn" />
      <div className="grow">
        <div className="what">{what}</div>
        <div className="body">{children}</div>
      </div>
      {retry && <Button small onClick={retry}>Try again</Button>}
      <Button small onClick={() => location.reload()}>Load the page anew</Button>
    </div>
  );
}

export const NotLoaded = ({ retry }: { retry: () => void }) => (
  <Broken what="This part of the page could not be loaded" retry={retry}>Is the server still running? After an update of the server the page has to be loaded anew.</Broken>
);

/// A component whose code is fetched when it is first shown. A server that does not answer is no end: it is said, and can be tried again.
export function later<P extends object>(load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let found: ComponentType<P> | null = null;
  return function Later(props: P) {
    const [state, setState] = useState<'loading' | 'ready' | 'failed'>(found ? 'ready' : 'loading');
    useEffect(() => {
      if (state !== 'loading') return;
      let gone = false;
      load().then(
        (component) => {
          found = component;
          if (!gone) setState('ready');
        },
        () => {
          if (!gone) setState('failed');
        },
      );
      return () => {
        gone = true;
      };
    }, [state]);
    if (state === 'failed') return <NotLoaded retry={() => setState('loading')} />;
    const Found = found;
    return state === 'ready' && Found ? <Found {...props} /> : <div style={{ padding: 20 }}><Spinner /></div>;
  };
}

/// What fails below is replaced by a note; the rest of the page stays.
export class Boundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override state = { error: null as unknown };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    if (this.state.error === null) return this.props.children;
    return <Broken what="This part of the page failed" retry={() => this.setState({ error: null })}>{this.state.error instanceof Error ? this.state.error.message : String(this.state.error)}</Broken>;
  }
}
