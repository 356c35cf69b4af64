import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { javascript } from '@codemirror/lang-javascript';
import { json, jsonParseLinter } from '@codemirror/lang-json';
import { bracketMatching, foldGutter, foldKeymap, indentOnInput, indentUnit } from '@codemirror/language';
import { linter, lintGutter, lintKeymap, setDiagnostics, type Diagnostic } from '@codemirror/lint';
import { MergeView } from '@codemirror/merge';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { Compartment, EditorState, Prec, type Extension } from '@codemirror/state';
import {
  drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers, placeholder,
} from '@codemirror/view';
import { StyleModule } from 'style-mod';
import { completeSql, highlight, sql, type PathInfo } from './sql';

/// The policy of the page forbids <style> elements. The library uses constructed style sheets in shadow roots only, so the
/// document borrows the set that a shadow root got.
function useConstructedSheets(): void {
  const shadow = document.createElement('div').attachShadow({ mode: 'open' });
  StyleModule.mount(shadow as unknown as Document, []);
  for (const symbol of Object.getOwnPropertySymbols(shadow))
    (document as unknown as Record<symbol, unknown>)[symbol] ??= (shadow as unknown as Record<symbol, unknown>)[symbol];
  // Some engines keep the marker as an ordinary property.
  for (const name of Object.getOwnPropertyNames(shadow))
    (document as unknown as Record<string, unknown>)[name] ??= (shadow as unknown as Record<string, unknown>)[name];
}
useConstructedSheets();

export type Language = 'json' | 'sql' | 'javascript' | 'text';

const theme = EditorView.theme({
  '&': { height: '100%', fontSize: '12.5px', backgroundColor: 'var(--panel)', color: 'var(--text)' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.55' },
  '.cm-content': { padding: '8px 0', caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--panel)', color: 'var(--text-3)', border: 'none', paddingLeft: '4px' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--sunken) 55%, transparent)' },
  '.cm-activeLineGutter': { backgroundColor: 'transparent', color: 'var(--text)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'var(--accent-soft) !important' },
  '.cm-matchingBracket': { backgroundColor: 'var(--accent-soft) !important', outline: '1px solid var(--accent-line)' },
  '.cm-selectionMatch': { backgroundColor: 'var(--warn-soft)' },
  '.cm-placeholder': { color: 'var(--text-3)' },
  '.cm-tooltip': { backgroundColor: 'var(--panel)', border: '1px solid var(--line)', borderRadius: '8px', boxShadow: 'var(--shadow-2)', overflow: 'hidden' },
  '.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--mono)', maxHeight: '15em' },
  '.cm-tooltip-autocomplete > ul > li': { padding: '2px 8px !important' },
  '.cm-tooltip-autocomplete > ul > li[aria-selected]': { backgroundColor: 'var(--accent-soft) !important', color: 'var(--text) !important' },
  '.cm-completionDetail': { color: 'var(--text-3)', fontStyle: 'normal' },
  '.cm-panels': { backgroundColor: 'var(--panel-2)', color: 'var(--text)', borderColor: 'var(--line)' },
  '.cm-foldPlaceholder': { backgroundColor: 'var(--sunken)', border: 'none', color: 'var(--text-3)', padding: '0 6px' },
  '.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--bad)', textUnderlineOffset: '3px' },
  '.cm-diagnostic': { fontFamily: 'var(--font)', whiteSpace: 'pre-wrap' },
  '.cm-changedLine': { backgroundColor: 'var(--accent-soft) !important' },
  '.cm-changedText': { background: 'color-mix(in srgb, var(--accent) 7%, transparent) !important' },
});

const languageOf = (language: Language): Extension =>
  language === 'json' ? json() : language === 'sql' ? sql() : language === 'javascript' ? javascript() : [];

export interface EditorOptions {
  parent: HTMLElement;
  value: string;
  language: Language;
  label: string;
  readOnly: boolean;
  placeholder: string;
  lint: boolean;
  onChange: (value: string) => void;
  onRun: () => void;
  onSave: () => void;
  paths: () => PathInfo | null;
  names: () => string[];
}

export interface Editor {
  set(value: string): void;
  setReadOnly(readOnly: boolean): void;
  focus(): void;
  mark(problems: { from: number; to: number; message: string }[]): void;
  /// The selected text and where it begins.
  selection(): { from: number; text: string };
  destroy(): void;
}

const jsonProblems = jsonParseLinter();

export function createEditor(options: EditorOptions): Editor {
  const editable = new Compartment();
  const readOnly = (on: boolean): Extension => [EditorState.readOnly.of(on)];
  let silent = false;
  const view = new EditorView({
    parent: options.parent,
    state: EditorState.create({
      doc: options.value,
      extensions: [
        lineNumbers(),
        highlightActiveLineGutter(),
        foldGutter(),
        history(),
        drawSelection(),
        indentOnInput(),
        indentUnit.of('  '),
        bracketMatching(),
        closeBrackets(),
        highlightActiveLine(),
        highlightSelectionMatches(),
        highlight,
        theme,
        languageOf(options.language),
        options.language === 'json' && options.lint
          ? [linter((v) => (v.state.doc.length === 0 ? [] : jsonProblems(v)), { delay: 250 }), lintGutter()]
          : [],
        options.language === 'sql'
          ? autocompletion({ override: [completeSql(options.paths, options.names)], icons: false, activateOnTyping: true })
          : [],
        editable.of(readOnly(options.readOnly)),
        placeholder(options.placeholder),
        EditorView.contentAttributes.of({ 'aria-label': options.label, spellcheck: 'false', tabindex: '0' }),
        EditorView.lineWrapping,
        Prec.highest(
          keymap.of([
            { key: 'Mod-Enter', run: () => (options.onRun(), true) },
            { key: 'Mod-s', run: () => (options.onSave(), true), preventDefault: true },
          ]),
        ),
        keymap.of([...closeBracketsKeymap, ...completionKeymap, ...defaultKeymap, ...historyKeymap, ...searchKeymap, ...foldKeymap, ...lintKeymap]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !silent) options.onChange(update.state.doc.toString());
        }),
      ],
    }),
  });
  // The view may have measured its lines before the browser laid them out for the last time.
  const observer = new ResizeObserver(() => view.requestMeasure());
  observer.observe(view.contentDOM);
  return {
    set(value) {
      if (view.state.doc.toString() === value) return;
      silent = true;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: value } });
      silent = false;
    },
    setReadOnly: (on) => view.dispatch({ effects: editable.reconfigure(readOnly(on)) }),
    focus: () => view.focus(),
    mark(problems) {
      const size = view.state.doc.length;
      const diagnostics: Diagnostic[] = problems.map((p) => ({
        from: Math.min(p.from, size), to: Math.min(Math.max(p.to, p.from), size), severity: 'error', message: p.message,
      }));
      view.dispatch(setDiagnostics(view.state, diagnostics));
    },
    selection: () => {
      const { from, to } = view.state.selection.main;
      return { from, text: view.state.sliceDoc(from, to) };
    },
    destroy: () => {
      observer.disconnect();
      view.destroy();
    },
  };
}

/// Two texts side by side, differences marked; the right one can be edited.
export function createMerge(parent: HTMLElement, theirs: string, mine: string, onChange: (mine: string) => void): () => void {
  const common: Extension = [lineNumbers(), highlight, theme, json(), EditorView.lineWrapping];
  const view = new MergeView({
    parent,
    a: { doc: theirs, extensions: [common, EditorState.readOnly.of(true), EditorView.contentAttributes.of({ 'aria-label': 'On the server', tabindex: '0' })] },
    b: {
      doc: mine,
      extensions: [common, history(), keymap.of([...defaultKeymap, ...historyKeymap]), EditorView.contentAttributes.of({ 'aria-label': 'Yours', tabindex: '0' }),
        EditorView.updateListener.of((u) => u.docChanged && onChange(u.state.doc.toString()))],
    },
    collapseUnchanged: { margin: 3, minSize: 6 },
  });
  return () => view.destroy();
}
