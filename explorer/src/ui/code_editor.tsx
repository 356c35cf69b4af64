import { useEffect, useImperativeHandle, useRef, useState, type Ref } from 'react';
import type { Editor, Language } from '../editor/codemirror';
import type { PathInfo } from '../editor/sql';
import { NotLoaded } from './later';

export interface CodeHandle {
  focus(): void;
  mark(problems: { from: number; to: number; message: string }[]): void;
  selection(): { from: number; text: string };
}

/// The editor's code is loaded when the first one is shown.
export function CodeEditor({ value, onChange, language, label, readOnly = false, lint = true, placeholder = '', onRun, onSave, paths, names, boxed, height, handle, autoFocus }: {
  value: string;
  onChange?: (value: string) => void;
  language: Language;
  label: string;
  readOnly?: boolean;
  lint?: boolean;
  placeholder?: string;
  onRun?: () => void;
  onSave?: () => void;
  paths?: PathInfo | null;
  names?: string[];
  boxed?: boolean;
  height?: number;
  handle?: Ref<CodeHandle>;
  autoFocus?: boolean;
}) {
  const box = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | null>(null);
  const [ready, setReady] = useState(false);
  const [failed, setFailed] = useState(false);
  const latest = useRef({ value, onChange, onRun, onSave, paths, names });
  latest.current = { value, onChange, onRun, onSave, paths, names };
  useEffect(() => {
    let gone = false;
    if (failed) return;
    void import('../editor/codemirror').then(({ createEditor }) => {
      if (gone || !box.current) return;
      editor.current = createEditor({
        parent: box.current, value: latest.current.value, language, label, readOnly, placeholder, lint,
        onChange: (text) => latest.current.onChange?.(text),
        onRun: () => latest.current.onRun?.(),
        onSave: () => latest.current.onSave?.(),
        paths: () => latest.current.paths ?? null,
        names: () => latest.current.names ?? [],
      });
      setReady(true);
      // It is loaded on demand: whoever opened a dialog meanwhile goes on typing there.
      if (autoFocus && !document.querySelector('[role=dialog]')) editor.current.focus();
    }, () => {
      if (!gone) setFailed(true);
    });
    return () => {
      gone = true;
      editor.current?.destroy();
      editor.current = null;
    };
  }, [language, label, lint, failed]);
  useEffect(() => editor.current?.set(value), [value, ready]);
  useEffect(() => editor.current?.setReadOnly(readOnly), [readOnly, ready]);
  useImperativeHandle(handle, () => ({
    focus: () => editor.current?.focus(),
    mark: (problems) => editor.current?.mark(problems),
    selection: () => editor.current?.selection() ?? { from: 0, text: '' },
  }), []);
  return (
    <div className={`editor${boxed ? ' boxed' : ''}`} ref={box} style={height ? { height, flex: 'none' } : undefined}>
      {failed ? <NotLoaded retry={() => setFailed(false)} /> : !ready && <div className="loading">Loading the editor…</div>}
    </div>
  );
}
