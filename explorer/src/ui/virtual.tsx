import { useEffect, useLayoutEffect, useRef, useState, type HTMLAttributes, type ReactNode } from 'react';

/// The window of rows to draw: which are visible, with some to spare on both sides.
export function useWindow(count: number, rowHeight: number, headHeight = 0) {
  const ref = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  useLayoutEffect(() => {
    const element = ref.current!;
    const update = () => setView({ top: element.scrollTop, height: element.clientHeight });
    update();
    element.addEventListener('scroll', update, { passive: true });
    const observer = new ResizeObserver(update);
    observer.observe(element);
    return () => {
      element.removeEventListener('scroll', update);
      observer.disconnect();
    };
  }, []);
  const first = Math.max(0, Math.floor((view.top - headHeight) / rowHeight) - 8);
  const last = Math.min(count, Math.ceil((view.top + view.height) / rowHeight) + 8);
  return { ref, first, last };
}

/// A list that draws only what is visible: 100,000 rows cost as much as 40.
export function VirtualList({ count, rowHeight, row, onNearEnd, activeIndex, ...rest }: {
  count: number;
  rowHeight: number;
  row: (index: number) => ReactNode;
  onNearEnd?: (() => void) | undefined;
  /// Kept in view when it changes.
  activeIndex?: number;
} & HTMLAttributes<HTMLDivElement>) {
  const { ref, first, last } = useWindow(count, rowHeight);
  useEffect(() => {
    if (onNearEnd && last + 20 >= count) onNearEnd();
  }, [last, count, onNearEnd]);
  useEffect(() => {
    if (activeIndex === undefined || activeIndex < 0) return;
    const element = ref.current!;
    const top = activeIndex * rowHeight;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + rowHeight > element.scrollTop + element.clientHeight) element.scrollTop = top + rowHeight - element.clientHeight;
  }, [activeIndex, rowHeight, ref]);
  const rows: ReactNode[] = [];
  for (let i = first; i < last; ++i)
    rows.push(
      <div key={i} className="vrow" role="presentation" style={{ top: i * rowHeight, height: rowHeight }}>
        {row(i)}
      </div>,
    );
  return (
    <div {...rest} ref={ref} className={`vlist ${rest.className ?? ''}`}>
      <div className="pad" role="presentation" style={{ height: count * rowHeight }}>{rows}</div>
    </div>
  );
}
