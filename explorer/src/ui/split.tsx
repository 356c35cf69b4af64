import { useRef, useState, type KeyboardEvent, type PointerEvent, type ReactNode } from 'react';

/// Two panes with a bar between them that mouse and arrow keys move. The size of the first is kept by name.
export function Split({ name, down, first, second, initial, min = 120, stack }: {
  name: string;
  down?: boolean;
  first: ReactNode;
  second: ReactNode;
  initial: number;
  min?: number;
  stack?: boolean;
}) {
  const box = useRef<HTMLDivElement>(null);
  const stored = `orrery.split.${name}`;
  const [size, setSize] = useState(() => Number(localStorage.getItem(stored)) || initial);
  const limit = () => {
    const rect = box.current?.getBoundingClientRect();
    return Math.max(min, (rect ? (down ? rect.height : rect.width) : 1200) - min);
  };
  const move = (to: number) => {
    const next = Math.round(Math.min(Math.max(to, min), limit()));
    setSize(next);
    localStorage.setItem(stored, String(next));
  };
  const onPointer = (event: PointerEvent<HTMLDivElement>) => {
    const rect = box.current!.getBoundingClientRect();
    event.currentTarget.setPointerCapture(event.pointerId);
    const bar = event.currentTarget;
    const onMove = (e: globalThis.PointerEvent) => move(down ? e.clientY - rect.top : e.clientX - rect.left);
    const onUp = () => bar.removeEventListener('pointermove', onMove);
    bar.addEventListener('pointermove', onMove);
    bar.addEventListener('pointerup', onUp, { once: true });
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -24, ArrowUp: -24, ArrowRight: 24, ArrowDown: 24 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    move(size + step);
  };
  return (
    <div ref={box} className={`split ${down ? 'down' : 'across'}${stack ? ' stack' : ''}`}>
      <div className="pane first" style={{ [down ? 'height' : 'width']: size, flex: 'none', [down ? 'maxHeight' : 'maxWidth']: `calc(100% - ${min}px)` }}>
        {first}
      </div>
      <div className="bar" role="separator" tabIndex={0} aria-orientation={down ? 'horizontal' : 'vertical'}
        aria-label="Resize" aria-valuenow={size} aria-valuemin={min} aria-valuemax={2000} onPointerDown={onPointer} onKeyDown={onKey} />
      <div className="pane rest">{second}</div>
    </div>
  );
}
