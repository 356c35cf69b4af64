import { useState } from 'react';
import icon from '../icon.svg';
import { useStore } from '../lib/hooks';
import { canSign, isLoopback, ownKeyNeeded, refused, signIn } from '../session';
import { Button, ErrorNote, Note, TextField } from '../ui/controls';
import { WELL_KNOWN_KEY } from '../wire/sign';

export function SignIn() {
  const again = useStore(refused);
  const [key, setKey] = useState(isLoopback() && !ownKeyNeeded && !again ? WELL_KNOWN_KEY : '');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const submit = async () => {
    if (!key.trim() || busy) return;
    setBusy(true);
    setError(null);
    sessionStorage.removeItem('orrery.signed-out');
    try {
      await signIn(key.trim());
    } catch (e) {
      setError(e);
      setBusy(false);
    }
  };
  const secure = `https://${location.host}/_explorer/`;
  return (
    <main className="signin">
      <form className="card" onSubmit={(event) => { event.preventDefault(); void submit(); }}>
        <div className="brand"><img src={icon} alt="" />Orrery</div>
        <div>
          <h1 style={{ fontSize: 'var(--fs-4)' }}>Sign in</h1>
          <p className="muted" style={{ marginTop: 4 }}>to the account at <b className="mono">{location.host}</b></p>
        </div>
        {again && <Note kind="warn">The server does not accept the key any more. What you were working on is still here: sign in to go on.</Note>}
        {canSign() ? (
          <>
            <TextField label="Account key" mono type="password" value={key} autoFocus onChange={(e) => setKey(e.target.value)}
              hint={key === WELL_KNOWN_KEY
                ? 'This is the key that everybody knows from the emulators; servers accept it on this machine only.'
                : 'The server prints it when it starts (--key). It stays in this tab and is forgotten when you close it.'} />
            {error !== null && <ErrorNote error={error} />}
            <Button look="primary" busy={busy} onClick={submit} type="submit">Sign in</Button>
          </>
        ) : (
          <Note kind="warn">
            Signing requests needs the browser's cryptography, which it offers on secure addresses only. This page came over plain
            HTTP from another machine. Open <a href={secure}>{secure}</a> instead, or reach the server through{' '}
            <code>http://localhost</code> (for example with an SSH tunnel).
          </Note>
        )}
        <p className="small muted">
          The certificate authority of this server: <a href="/_explorer/emulator.pem">emulator.pem</a>
        </p>
      </form>
    </main>
  );
}
