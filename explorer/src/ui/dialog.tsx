import { useEffect, useId, useRef, useState, type FormEvent, type ReactNode } from 'react';
import { Button, ErrorNote, TextField } from './controls';

export function Dialog({ title, onClose, wide, footer, onSubmit, children }: {
  title: string;
  onClose: () => void;
  wide?: boolean;
  footer?: ReactNode;
  onSubmit?: () => void;
  children: ReactNode;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = ref.current!;
    const before = document.activeElement as HTMLElement | null;
    if (!dialog.open) dialog.showModal();
    return () => {
      dialog.close();
      before?.focus?.();
    };
  }, []);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit?.();
  };
  return (
    <dialog ref={ref} className={wide ? 'wide' : ''} aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}>
      <header>
        <h2 id={id}>{title}</h2>
        <Button look="quiet" small icon="close" aria-label="Close" onClick={onClose} />
      </header>
      {onSubmit ? (
        <form className="content" id={`${id}-form`} onSubmit={submit} noValidate>
          {children}
          <button type="submit" hidden />
        </form>
      ) : (
        <div className="content">{children}</div>
      )}
      {footer && <footer>{footer}</footer>}
    </dialog>
  );
}

/// For what cannot be undone. With `name`, the user types it to show that it is meant.
export function ConfirmDelete({ title, name, what, onClose, onConfirm }: {
  title: string;
  name?: string;
  what: ReactNode;
  onClose: () => void;
  onConfirm: () => Promise<void>;
}) {
  const [typed, setTyped] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const ready = name === undefined || typed === name;
  const confirm = async () => {
    if (!ready || busy) return;
    setBusy(true);
    setError(null);
    try {
      await onConfirm();
    } catch (e) {
      setError(e);
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose} onSubmit={confirm}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="danger solid" busy={busy} disabled={!ready} onClick={confirm}>Delete</Button>
        </>
      }>
      <div>{what}</div>
      {name !== undefined && (
        <TextField label={`Type ${name} to confirm`} mono value={typed} onChange={(e) => setTyped(e.target.value)} autoFocus />
      )}
      {error !== null && <ErrorNote error={error} />}
    </Dialog>
  );
}
