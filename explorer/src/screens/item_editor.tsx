import { useEffect, useRef, useState, type RefObject } from 'react';
import { bytes, ru, time } from '../lib/format';
import { useStore } from '../lib/hooks';
import { members, pretty, storedBytes, withMember, withoutSystem } from '../lib/json_text';
import { guardLeaving, reportDirty } from '../route';
import { session } from '../session';
import { Button, ErrorNote, Note } from '../ui/controls';
import { CodeEditor } from '../ui/code_editor';
import { Dialog } from '../ui/dialog';
import { Icon } from '../ui/icons';
import { Menu } from '../ui/menu';
import { toast } from '../ui/toast';
import { createItem, readItem, replaceItem, type ItemAnswer, type ItemRow } from '../wire/api';
import { isParentMissing, WireError } from '../wire/error';
import { keyHeader, keyOf, keyText } from '../wire/key';
import type { Json, JsonObject, KeyValue, PartitionKeyDefinition } from '../wire/types';

export type OpenItem =
  | { kind: 'new'; text: string; serial: number }
  | { kind: 'stored'; id: string; key: KeyValue; text: string; etag: string; charge: number };

const editable = (text: string): string => pretty(withoutSystem(text));

interface Conflict {
  mine: string;
  theirs: ItemAnswer | null;
}

export function ItemEditor({ db, coll, definition, item, onSaved, onDuplicate, onDelete, onClose, dirtyRef }: {
  db: string;
  coll: string;
  definition: PartitionKeyDefinition;
  item: OpenItem;
  onSaved: (item: OpenItem, row: ItemRow, isNew: boolean) => void;
  onDuplicate: (text: string) => void;
  onDelete: () => void;
  onClose: () => void;
  dirtyRef: RefObject<() => boolean>;
}) {
  const client = useStore(session)!;
  const original = item.kind === 'new' ? item.text : editable(item.text);
  const [text, setText] = useState(original);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [conflict, setConflict] = useState<Conflict | null>(null);
  const [moved, setMoved] = useState(false);
  const changed = text !== original;
  const latest = useRef(false);
  latest.current = changed;
  useEffect(() => {
    const check = () => latest.current;
    dirtyRef.current = check;
    const undoReport = reportDirty(check);
    const undoGuard = guardLeaving(() => !latest.current || confirm('The item has changes that are not saved. Leave them?'));
    return () => {
      dirtyRef.current = () => false;
      undoReport();
      undoGuard();
    };
  }, [dirtyRef]);

  let parsed: JsonObject | null = null;
  let syntax: string | null = null;
  try {
    const value = JSON.parse(text) as Json;
    if (value === null || typeof value !== 'object' || Array.isArray(value)) syntax = 'An item is a JSON object: { … }';
    else parsed = value as JsonObject;
  } catch (e) {
    syntax = (e as Error).message;
  }

  const finish = (answer: ItemAnswer, isNew: boolean) => {
    const stored = JSON.parse(answer.text) as JsonObject;
    const key = keyOf(stored, definition);
    latest.current = false;
    const next: OpenItem = { kind: 'stored', id: String(stored.id), key, text: answer.text, etag: answer.etag, charge: answer.charge };
    onSaved(next, { id: next.id, key, ts: Number(stored._ts) }, isNew);
    toast(`Saved for ${ru(answer.charge)}.`);
  };
  const save = async (etag = item.kind === 'stored' ? item.etag : '', content = text) => {
    if (busy || syntax || !parsed) return;
    setBusy(true);
    setError(null);
    setMoved(false);
    try {
      const value = JSON.parse(content) as JsonObject;
      const key = keyOf(value, definition);
      if (item.kind === 'new') finish(await createItem(client, db, coll, content, keyHeader(key, definition)), true);
      else if (value.id !== item.id || keyHeader(key, definition) !== keyHeader(item.key, definition)) setMoved(true);
      else {
        try {
          finish(await replaceItem(client, db, coll, item.id, keyHeader(item.key, definition), content, etag), false);
          setConflict(null);
        } catch (e) {
          if (!(e instanceof WireError) || (e.status !== 412 && e.status !== 404) || isParentMissing(e)) throw e;
          // Somebody else was faster: show both and let the user decide.
          const theirs = await readItem(client, db, coll, item.id, keyHeader(item.key, definition)).catch((again: unknown) => {
            if (again instanceof WireError && again.status === 404) return null;
            throw again;
          });
          setConflict({ mine: pretty(content), theirs });
        }
      }
    } catch (e) {
      setError(e);
    }
    setBusy(false);
  };
  const saveAsNew = async () => {
    setBusy(true);
    setError(null);
    try {
      const answer = await createItem(client, db, coll, text, keyHeader(keyOf(parsed!, definition), definition));
      setMoved(false);
      finish(answer, true);
    } catch (e) {
      setError(e);
    }
    setBusy(false);
  };

  const system = item.kind === 'stored' ? Object.fromEntries(members(item.text).map((m) => [m.name, m.value])) : null;
  return (
    <div className="fill" style={{ background: 'var(--panel)' }}>
      <div className="toolbar">
        <div className="grow">
          <div className="ellipsis mono" style={{ fontWeight: 600 }}>{item.kind === 'new' ? 'New item' : item.id}</div>
        </div>
        {changed && <span className="badge warn">not saved</span>}
        <Button look="primary" icon="save" busy={busy} disabled={syntax !== null || (item.kind === 'stored' && !changed)} onClick={() => void save()}>Save</Button>
        {item.kind === 'stored' && changed && <Button look="quiet" onClick={() => setText(original)}>Revert</Button>}
        {item.kind === 'stored' && (
          <Menu label="More actions" className="btn icon" trigger={<Icon name="more" />} entries={[
            { label: 'Duplicate', icon: 'copy', run: () => onDuplicate(pretty(withMember(text, 'id', JSON.stringify(crypto.randomUUID())))) },
            { label: 'Copy JSON', icon: 'copy', run: () => void navigator.clipboard.writeText(text).then(() => toast('Copied.')) },
            { label: 'Download', icon: 'download', run: () => saveFile(`${item.id}.json`, [text], 'application/json') },
            'line',
            { label: 'Delete', icon: 'trash', danger: true, run: onDelete },
          ]} />
        )}
        <Button look="quiet" icon="close" aria-label="Close the item" onClick={onClose} />
      </div>
      {error !== null && <div style={{ padding: 12 }}><ErrorNote error={error} /></div>}
      {moved && (
        <div style={{ padding: 12 }}>
          <Note kind="warn">
            The id or the partition key is not the one this item is stored under, and both are fixed once an item exists.
            <div className="row" style={{ marginTop: 8 }}><Button small onClick={() => void saveAsNew()}>Save as a new item</Button><Button small look="quiet" onClick={() => setMoved(false)}>Go on editing</Button></div>
          </Note>
        </div>
      )}
      <CodeEditor language="json" label="Item" value={text} onChange={setText} onSave={() => void save()} autoFocus={item.kind === 'new'} />
      <div className="statusline num">
        {syntax ? <span style={{ color: 'var(--bad)' }} className="ellipsis">{syntax}</span> : <span title="As it is stored, without white space">{bytes(storedBytes(text))}</span>}
        {item.kind === 'stored' && <span title="Read or written for">{ru(item.charge)}</span>}
        {parsed && <span className="ellipsis muted" style={{ maxWidth: 220 }}>key {keyText(keyOf(parsed, definition))}</span>}
        {system?._ts && <span className="muted">written {time(Number(system._ts))}</span>}
        {item.kind === 'stored' && <span className="muted ellipsis hide-narrow" style={{ flex: '1 1 0', minWidth: 60 }} title={item.etag}>etag <span className="mono">{item.etag.replaceAll('"', '')}</span></span>}
      </div>
      {conflict && (
        <ConflictDialog conflict={conflict} busy={busy} error={error}
          onMine={(content) => void (conflict.theirs ? save(conflict.theirs.etag, content) : createItem(client, db, coll, content, keyHeader(keyOf(JSON.parse(content) as Json, definition), definition)).then((a) => { setConflict(null); finish(a, true); }, setError))}
          onTheirs={() => {
            if (conflict.theirs && item.kind === 'stored') {
              latest.current = false;
              onSaved({ ...item, text: conflict.theirs.text, etag: conflict.theirs.etag, charge: conflict.theirs.charge }, { id: item.id, key: item.key, ts: 0 }, false);
            }
            setConflict(null);
          }}
          onClose={() => setConflict(null)} />
      )}
    </div>
  );
}

function ConflictDialog({ conflict, busy, error, onMine, onTheirs, onClose }: {
  conflict: Conflict;
  busy: boolean;
  error: unknown;
  onMine: (content: string) => void;
  onTheirs: () => void;
  onClose: () => void;
}) {
  const box = useRef<HTMLDivElement>(null);
  const mine = useRef(conflict.mine);
  const [valid, setValid] = useState(true);
  const { theirs } = conflict;
  useEffect(() => {
    if (!theirs) return;
    let destroy = () => {};
    let gone = false;
    void import('../editor/codemirror').then(({ createMerge }) => {
      if (gone || !box.current) return;
      destroy = createMerge(box.current, editable(theirs.text), conflict.mine, (text) => {
        mine.current = text;
        try {
          JSON.parse(text);
          setValid(true);
        } catch {
          setValid(false);
        }
      });
    });
    return () => {
      gone = true;
      destroy();
    };
  }, [conflict, theirs]);
  return (
    <Dialog wide title={theirs ? 'The item was changed by somebody else' : 'The item was deleted by somebody else'} onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Go on editing</Button>
          {theirs && <Button onClick={onTheirs}>Take theirs</Button>}
          <Button look="primary" busy={busy} disabled={!valid} onClick={() => onMine(mine.current)}>{theirs ? 'Save mine over it' : 'Create it again'}</Button>
        </>
      }>
      <p>{theirs ? 'Since you opened it, a newer version was written. Nothing was saved yet. Differences are marked; you can still change your side.' : 'Nothing was saved. You can create it again with your content.'}</p>
      {theirs && (
        <>
          <div className="row small" style={{ fontWeight: 600 }}><span className="grow">On the server</span><span className="grow">Yours</span></div>
          <div ref={box} style={{ minHeight: 260, maxHeight: '52vh', overflow: 'auto', border: '1px solid var(--line)', borderRadius: 'var(--r-1)' }} />
        </>
      )}
      {error !== null && <ErrorNote error={error} />}
    </Dialog>
  );
}

/// Hands a file to the browser's download.
export function saveFile(name: string, parts: BlobPart[], type: string): void {
  const url = URL.createObjectURL(new Blob(parts, { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name.replace(/[\\/:*?"<>|]/g, '_');
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
